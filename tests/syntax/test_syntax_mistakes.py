"""What is wrong with statements: one error each, where it is, and the program around it still parsed."""

from __future__ import annotations

import pytest
from syntax_outline import fixed, found, parsed

from prosec.diagnostics import Severity
from prosec.source import Source
from prosec.syntax import nodes, parse

MISTAKES = [
    # sessions
    ("session", "E003", "session"),
    ("let x = session", "E003", "session"),
    ("session:", "E003", "session:"),
    ("session:\n  retry: 2", "E003", "session:"),
    ("session:\n  retry 2", "E005", "retry"),
    ('session:\n  session "a"', "E003", "session:"),
    ('session\n  prompt: "a"', "E005", "session"),
    ("session writer", "E005", "writer"),
    ('session writer "a"', "E005", "writer"),
    ("session write a poem", "E005", "write a poem"),
    ('session: "a"', "E005", ":"),
    ('session x: a "b"', "E005", '"b"'),
    ("session **a**", "E005", "**a**"),
    ('session "a" context: x', "E005", "context"),
    ("session: a prompt: x", "E005", "prompt"),
    ('session prompt: "a"', "E005", "prompt"),
    ('session "a" (retry: 3)', "E005", "(retry: 3)"),
    ('session "a" as x', "E004", "as"),
    ('session "a" "b"', "E004", '"b"'),
    ('session "a", "b"', "E004", ","),
    ('session "a"; throw', "E004", ";"),
    ("resume a", "E005", "a"),
    ("resume:", "E005", ""),
    ('resume: a "b"', "E005", '"b"'),
    # properties
    ("session: a\n  prompt: |\n    text\n    more", "E005", "|"),
    ("session: a\n  prompt: >\n    text: more", "E005", ">"),
    ("session: a\n  prompt: You are good, be it", "E005", "You are good, be it"),
    ("session: a\n  prompt: Don't do it", "E005", "Don't do it"),
    ("session: a\n  prompt:\n    You are good", "E005", "prompt"),
    ('session: a\n  prompt:\n    "b"', "E005", "prompt"),
    ("session: a\n  prompt:", "E005", ""),
    ("session: a\n  retry: 3\n    backoff: linear", "E005", "backoff"),
    ("session: a\n  retry:\n    max: 3", "E005", "max"),
    ("session: a\n  context y", "E005", "context"),
    ("session: a\n  context = y", "E005", "="),
    ("session: a\n  contxt y", "E004", "contxt"),
    ("session: a\n  [x]", "E004", "["),
    ('session: a\n  "x"', "E004", '"x"'),
    ("session: a\n  permissions: deny", "E015", "deny"),
    ('session: a\n  permissions: { read: ["b"] }', "E015", '{ read: ["b"] }'),
    ("session: a\n  permissions:", "E015", "permissions"),
    ("session: a\n  permissions:\n    read", "E004", "read"),
    ("session: a\n  model:\n    - opus", "E005", "-"),
    ("do b\n  context: x", "E005", "context"),
    ("context: x", "E005", "context"),
    # definitions
    ("use a", "E004", "a"),
    ("use", "E005", ""),
    ('use "a" b', "E004", "b"),
    ('import "a"', "E005", ""),
    ('import { a } from "b"', "E004", "{"),
    ('input: "a"', "E020", "input"),
    ('input "": "a"', "E020", '""'),
    ("input", "E020", "input"),
    ('input "x": "a"', "E005", '"x"'),
    ("input x", "E005", ""),
    ("input x:", "E005", ""),
    ("input x: string", "E004", "string"),
    ('input x = "a"', "E005", "="),
    ('input x: "a" = "b"', "E005", "="),
    ('input x: "a" default "b"', "E005", "default"),
    ('input x:\n  default: "a"', "E005", "default"),
    ("input x:\n  type: number", "E004", "type"),
    ("output", "E023", "output"),
    ("output: x", "E023", "output"),
    ('output "x" = 1', "E023", "output"),
    ("output x: 1", "E005", ":"),
    ("output x =", "E005", ""),
    ("agent:\n  model: opus", "E004", ":"),
    ("agent a\n  model: opus", "E005", ""),
    ('agent "a":\n  model: opus', "E005", '"a"'),
    ('agent a: "b"', "E004", '"b"'),
    ("block:\n  throw", "E004", ":"),
    ("block b\n  throw", "E005", ""),
    ("block b(x: string):\n  throw", "E004", ":"),
    ("block b(x = 1):\n  throw", "E005", "="),
    ("block b(1):\n  throw", "E004", "1"),
    ("block b(x) (depth: 5):\n  throw", "E004", "depth"),
    ("block b (max_depth: x):\n  throw", "E004", "x"),
    # values
    ("let = 1", "E031", "let"),
    ("let x: string = 1", "E004", ":"),
    ("let x, y = 1", "E004", ","),
    ("let {} = x", "E005", "{"),
    ("let { a: b } = x", "E004", ":"),
    ("let [a] = x", "E004", "["),
    ("let 1 = x", "E004", "1"),
    ("x y", "E004", "x"),
    ("do", "E005", ""),
    ("do b x", "E004", "x"),
    ("do b:\n  throw", "E004", ":"),
    ("do b -> do c", "E004", "->"),
    ("do b as x", "E004", "as"),
    ("throw x.message", "E004", "."),
    ("throw 1", "E004", "1"),
    ("break 1", "E004", "1"),
    # control
    ("if:\n  throw", "E004", ":"),
    ("if x\n  throw", "E005", ""),
    ("if x: throw", "E005", "throw"),
    ("if x then\n  throw", "E005", "x then"),
    ("else:\n  throw", "E045", "else"),
    ("elif x:\n  throw", "E045", "elif"),
    ("catch as e:\n  throw", "E045", "catch"),
    ("finally:\n  throw", "E045", "finally"),
    ('option "a":\n  throw', "E045", "option"),
    ("if x:\n  throw\nelse if y:\n  throw", "E005", "else if"),
    ("if x:\n  throw\nelse y:\n  throw", "E004", "y"),
    ("if x:\n  throw\nelse:\n  throw\nelse:\n  throw", "E045", "else"),
    ("if x:\n  throw\nelse:\n  throw\nelif y:\n  throw", "E045", "elif"),
    ("if x y z:\n  throw\nelif y:\n  throw\nelse:\n  throw", "E005", "x y z"),
    ("try:\n  throw", "E041", "try:"),
    ("try:\n  throw\ncatch e:\n  throw", "E005", "e"),
    ("try:\n  throw\ncatch:\n  throw\ncatch as e:\n  throw", "E045", "catch"),
    ("try:\n  throw\nfinally:\n  throw\ncatch:\n  throw", "E045", "catch"),
    ("try:\n  throw\nfinally:\n  throw\nfinally:\n  throw", "E045", "finally"),
    ("try x:\n  throw\ncatch:\n  throw", "E004", "x"),
    ("choice **a**:", "E044", "choice **a**:"),
    ('choice:\n  option "a":\n    throw', "E004", ":"),
    ('choice "a":\n  option "b":\n    throw', "E004", '"a"'),
    ("choice **a**:\n  option b:\n    throw", "E004", "b"),
    ('choice **a**:\n  option "b"\n    throw', "E005", ""),
    ('choice **a**:\n  session "b"\n  session "c"', "E004", "session"),
    ('choice **a**:\n  option "b":\n    throw\n  else:\n    throw', "E045", "else"),
    ("repeat:\n  throw", "E004", ":"),
    ("repeat 3\n  throw", "E005", ""),
    ("repeat until **abc**:\n  throw", "E005", "until"),
    ("loop 3:\n  throw", "E004", "3"),
    ("loop **abc**:\n  throw", "E004", "**abc**"),
    ("loop until **a** (3):\n  throw", "E004", "3"),
    ("loop until:\n  throw", "E004", ":"),
    ("for x of xs:\n  throw", "E004", "of"),
    ("for (x in xs):\n  throw", "E004", "("),
    ("for x in 1..3:\n  throw", "E005", ".."),
    ("for x in xs\n  throw", "E005", ""),
    ("parallel\n  throw", "E005", ""),
    ("parallel 3:\n  throw", "E004", "3"),
    ("parallel (3):\n  throw", "E004", "3"),
    ("parallel:\n  a = if x:\n    throw", "E005", "if"),
    ("parallel:\n  a =\n  throw", "E005", ""),
    ('parallel:\n  a: session "b"', "E005", ":"),
    ('session "a" {\n  context: x\n}', "E004", "{"),
    ('let x = [\n  session "a"\n    context: y\n]', "E005", "context"),
    ("let x = a +\n  b", "E005", ""),
    ("for x in 42:\n  throw", "E005", "42"),
    ("for x, i in 42:\n  throw", "E005", "42"),
    ("parallel for x in 3:\n  throw", "E005", "3"),
    ("let foo@bar = 1", "E004", "foo@bar"),
    ("foo@bar = 1", "E004", "foo@bar"),
    # strings that go on over lines
    ('session "hello\nworld"', "E001", '"hello'),
    ('session "hello\n  dear\n\n  world"', "E001", '"hello'),
    ('session "hello\n"', "E001", '"hello'),
    ('session:\n  prompt: "hello\n    world\'s end"\n  model: opus', "E001", '"hello'),
    ('let x = ["a,\n  b",\n  "c"]', "E001", '"a,'),
    ('let x = ["a,\n  "b",\n  "c"]', "E001", '"a,'),
    ('session:\n  prompt: "a" -> session: b\n  prompt: "c"', "E004", "->"),
    ('session:\n  prompt: "a" "b"', "E004", '"b"'),
    # conditions
    ('if "it is good":\n  throw', "E005", '"it is good"'),
    ('if x:\n  throw\nelif not "it is good":\n  throw', "E005", '"it is good"'),
    ('loop until x == "a" or (y and "done") (max: 3):\n  throw', "E005", '"done"'),
    ('loop while """it goes on""":\n  throw', "E005", '"""it goes on"""'),
    ('if "it is {x} good":\n  throw', "E005", '"it is {x} good"'),
    ("if '':\n  throw", "E005", "''"),
    ('if "":\n  throw', "E005", '""'),
    ('let y = x | filter: "it is good"', "E005", '"it is good"'),
    ('let y = x | filter: not "it is good"', "E005", '"it is good"'),
    ("if it is good:\n  throw", "E005", "it is good"),
    ("if it looks good:\n  throw", "E005", "it looks good"),
    ("loop until *it is done* (max: 3):\n  throw", "E005", "*it is done*"),
    ('choice *which*:\n  option "a":\n    throw', "E005", "*which*"),
    # comments and sums of others
    ("// it's a comment", "E004", "//"),
    ("/* a comment */", "E004", "/*"),
    ('session "a" // why', "E004", "//"),
    ("let x = 1 // why", "E004", "//"),
    ("session:\n  // why\n  prompt: x", "E004", "//"),
    ('session "a" + "b"', "E004", "+"),
    # names as what they are not
    ("session before", "E005", "before"),
    ("let x = session before\n  model: opus", "E005", "before"),
    # words of others
    ('gate a:\n  prompt: "b"\n  allow: [c]', "E052", "gate"),
    ('approve "a"', "E052", "approve"),
    ('exec "a"', "E052", "exec"),
    ('shell "a"', "E052", "shell"),
    ('ask "a"', "E052", "ask"),
    ("@label a", "E052", "@"),
    ("foreach x in xs:\n  throw", "E052", "foreach"),
    ("for each x in xs:\n  throw", "E052", "each"),
    ("parallel for each x in xs:\n  throw", "E052", "each"),
    ("repeat 3 times:\n  throw", "E052", "times"),
    ("while x:\n  throw", "E005", "while"),
    ("def f(x):\n  throw", "E005", "def"),
    ("print(x)", "E005", "print"),
    ("rethrow", "E045", "rethrow"),
    ("elseif x:\n  throw", "E005", "elseif"),
    ("def f(x: str) -> str:\n  throw", "E005", "def"),
    ("function f:\n  throw", "E005", "function"),
    ("func f(x):", "E005", "func"),
    ("try:\n  throw\nexcept as e:\n  throw", "E005", "except"),
    ("try:\n  throw\nexcept Wrong as e:\n  throw\nfinally:\n  throw", "E005", "except"),
    # words of others as values
    ('let x = exec "a"', "E052", "exec"),
    ('x = shell """a"""', "E052", "shell"),
    ('let x = ask "a"', "E052", "ask"),
    ('let x = ask("a")', "E052", "ask"),
    ("let x = gate a:", "E052", "gate"),
    ('output x = approve "a"', "E052", "approve"),
    ('if ask "a":\n  throw', "E052", "ask"),
    ('if not ask "a":\n  throw', "E052", "ask"),
    ('let x = [1, exec "a"]', "E052", "exec"),
    ('do b(exec "a")', "E052", "exec"),
    ('session "a"\n  context: exec "b"', "E052", "exec"),
    ('parallel:\n  exec "a"', "E052", "exec"),
    ('parallel:\n  a = exec "a"', "E052", "exec"),
    ('let y = xs | map: exec "a"', "E052", "exec"),
    ('let x = input "a"', "E005", "input"),
    ('x = input("a")', "E005", "input"),
    ('let x = await session "a"', "E005", "await"),
    ("let x = await do b", "E005", "await"),
    ("let x = run b", "E005", "run"),
    # misspelt
    ('sesion "a"\n  context: x', "E004", "sesion"),
    ('paralel:\n  a = session "x"\n  b = c', "E004", "paralel"),
    ('Session "a"', "E004", "Session"),
    ("reapeat 3:\n  throw", "E004", "reapeat"),
    ("agnt a:\n  model: opus", "E004", "agnt"),
]


@pytest.mark.parametrize(("text", "code", "marked"), MISTAKES)
def test_one_mistake_is_one_error(text: str, code: str, marked: str) -> None:
    around = f"let before = 1\n{text}\nlet after = 2\n"
    assert found(around) == [(code, marked)]
    first, *_, last = parsed(around).program.statements
    assert isinstance(first, nodes.Let) and isinstance(last, nodes.Let)
    assert last.targets[0].text == "after"


@pytest.mark.parametrize(("text", "code", "marked"), [case for case in MISTAKES if not case[0].startswith("rethrow")])
def test_one_mistake_is_one_error_in_a_body(text: str, code: str, marked: str) -> None:
    inside = text.replace("\n", "\n    ")
    around = f"block b:\n  if x:\n    {inside}\n    throw\n  throw\nthrow\n"
    assert found(around) == [(code, marked)]
    (block, last) = parsed(around).program.statements
    assert isinstance(block, nodes.Block) and isinstance(last, nodes.Throw)
    assert len(block.body.statements) == 2


@pytest.mark.parametrize(("text", "code", "marked"), MISTAKES)
def test_every_error_says_what_to_do(text: str, code: str, marked: str) -> None:
    (diagnostic,) = parse(Source(text)).diagnostics
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.help or "expected" in diagnostic.message


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('sesion "a"', 'session "a"'),
        ("if x\n  throw\n", "if x:\n  throw\n"),
        ("if x:\n  throw\nelse if y:\n  throw\n", "if x:\n  throw\nelif y:\n  throw\n"),
        ("try:\n  throw\ncatch e:\n  throw\n", "try:\n  throw\ncatch as e:\n  throw\n"),
        ("repeat 3 times:\n  throw\n", "repeat 3:\n  throw\n"),
        ("for each x in xs:\n  throw\n", "for x in xs:\n  throw\n"),
        ("session writer", "session: writer"),
        ("resume a", "resume: a"),
        ('session: "a"', 'session "a"'),
        ("session: a\n  context = y", "session: a\n  context: y"),
        ("session: a\n  context y", "session: a\n  context: y"),
        ("session: a\n  prompt: Be good", 'session: a\n  prompt: "Be good"'),
        ("output x: 1", "output x = 1"),
        ("parallel:\n  a: do b\n", "parallel:\n  a = do b\n"),
        ('agent "a":\n  model: opus', "agent a:\n  model: opus"),
        ('session\n  prompt: "a"', 'session:\n  prompt: "a"'),
        ("let x = 1\n  let y = 2\n", "let x = 1\nlet y = 2\n"),
        ("var x = 1", "let x = 1"),
        ("while x:\n  throw\n", "loop while x:\n  throw\n"),
        ("for x in 42:\n  throw\n", "repeat 42 as x:\n  throw\n"),
        ('if "it is good":\n  throw\n', "if **it is good**:\n  throw\n"),
        ('if """it is\ngood""":\n  throw\n', "if ***it is\ngood***:\n  throw\n"),
        ("if it is good:\n  throw\n", "if **it is good**:\n  throw\n"),
        ("if it looks good:\n  throw\n", "if **it looks good**:\n  throw\n"),
        ("loop until *done* (max: 3):\n  throw\n", "loop until **done** (max: 3):\n  throw\n"),
        ("// a comment\nthrow\n", "# a comment\nthrow\n"),
        ('let x = input "a"\n', 'input x: "a"\n'),
        ('let x = input("a")\n', 'input x: "a"\n'),
        ('let x = await session "a"\n', 'let x = session "a"\n'),
        ('let p = "a"\nsession p\n', 'let p = "a"\nsession:\n  prompt: p\n'),
        (
            'let p = "a"\nif p == "b":\n  let x = session p\n     model: opus\n',
            'let p = "a"\nif p == "b":\n  let x = session:\n     prompt: p\n     model: opus\n',
        ),
        ('block b(x):\n  throw\nb("a")\n', 'block b(x):\n  throw\ndo b("a")\n'),
        ('agent a:\n  model: opus\nlet x = a("b")\n', 'agent a:\n  model: opus\nlet x = session: a "b"\n'),
        ("def b(x):\n  throw\n", "block b(x):\n  throw\n"),
        ("try:\n  throw\nexcept as e:\n  throw\n", "try:\n  throw\ncatch as e:\n  throw\n"),
    ],
)
def test_fixes(text: str, right: str) -> None:
    assert fixed(text) == right
    assert not found(right)


def test_a_file_of_the_later_format() -> None:
    for text in ("---\nname: a\n---\nlet x\n", "---", "\ufeff---\r\nname: a\r\n", "\n\n---\n"):
        result = parsed(text)
        assert [d.code for d in result.diagnostics] == ["E052"]
        assert isinstance(result.program.statements[0], nodes.Broken)


def test_broken_statements_keep_the_names_they_would_have_declared() -> None:
    def names(text: str) -> set[str]:
        broken = parsed(text).program.statements[0]
        assert isinstance(broken, nodes.Broken)
        return set(broken.names)

    assert names("let x = = 1\n") == {"x"}
    assert names("let { a, b } 1\n") == {"a", "b"}
    assert names("for x, i on xs:\n  let y = 1\n  z = 2\n") >= {"x", "i", "y", "z"}
    assert names("block b(x y):\n  throw\n") >= {"b", "x", "y"}
    assert names("agent a\n  model: opus\n") == {"a"}
    assert names("input x string\n") == {"x"}
    assert names("if x y z:\n  let a = 1\nelse:\n  let b = 2\n") >= {"a", "b"}
    assert names("try x:\n  let a = 1\ncatch as e:\n  let b = 2\n") >= {"a", "b", "e"}
    assert names("session x: 1\n") >= {"x"}
    assert names('use "a" as b c\n') == {"b"}


def test_mistakes_in_the_body_of_a_mistake_are_found() -> None:
    text = "lop until **x**:\n  let y\n  throw\n  if z\n    let w = 1 2\nthrow\n"
    assert [code for code, _ in found(text)] == ["E004", "E005", "E005", "E004"]
    assert isinstance(parsed(text).program.statements[-1], nodes.Throw)


def test_broken_branches_keep_their_names() -> None:
    parallel = parsed("parallel:\n  a = 1 2\n  b = 3\n").program.statements[0]
    assert isinstance(parallel, nodes.Parallel)
    assert [branch.name and branch.name.text for branch in parallel.branches] == ["a", "b"]
    assert isinstance(parallel.branches[0].body, nodes.Broken)


def test_a_warning_among_the_properties_hides_no_error() -> None:
    assert [code for code, _ in found("session:\n  skills:\n    - a\n")] == ["E003", "W027"]


def test_all_mistakes_are_reported_in_order() -> None:
    text = "let x\nlet y = 1\nlet z = [\nlet w = 'a'\nsession\n"
    assert found(text) == [("E005", ""), ("E005", "["), ("E005", "'a'"), ("E003", "session")]


def test_what_is_no_mistake_though_it_looks_like_one() -> None:
    for text in (
        'let exec = 1\nlet x = exec\nlet y = [exec, exec + 1]\nif exec == "a":\n  throw\n',
        'let input = "a"\nlet x = input\n',
        'if x == "a" or "b" in y and not (z != "c"):\n  throw\n',
        'let x = y or "none"\n',
        'let y = x | filter: item == "a"\n',
        'let y = x | map: "item {item}"\n',
        'if "{x}":\n  throw\n',
        "let it = 1\nif it is good:\n  throw\n",
        "let y = xs | reduce(it, good):\n  if it is good:\n    throw\n",
        "block b(x, it):\n  if it is good:\n    throw\n",
        'use "other.prose"\nif it is good:\n  throw\n',
    ):
        assert not found(text), text


def test_two_unterminated_strings_are_two_mistakes() -> None:
    assert found('session "a\nsession "b\n') == [("E001", '"a'), ("E001", '"b')]
    assert found('session: a\n  prompt: "b\n  backoff: "c\n') == [("E001", '"b'), ("E001", '"c')]
    assert found('let x = ["a\n# "b\n]\n') == [("E001", '"a')]


def test_help_names_what_was_written() -> None:
    def help(text: str) -> str:
        *_, diagnostic = parse(Source(text)).diagnostics
        return diagnostic.help or ""

    assert "`repeat 42 as x:`" in help("for x in 42:\n  throw\n")
    assert "`**done**`" in help('loop until "done":\n  throw\n')
    assert '`input url: "Which?"`' in help('let url = input "Which?"\n')
    assert "begin with `#`" in help("// a\n")
    assert "`session: a`" in help("agent a:\n  model: opus\na(1)\n")
    assert "`do b(...)`" in help("block b(x):\n  throw\nlet y = b(1)\n")
    assert "`let`" in help('session "a" + "b"\n')
    assert "`prompt: p`" in help('let p = "a"\nsession p\n')
    assert "`session: p`" in help("agent p:\n  model: opus\nsession p\n")


def test_what_is_called_a_function_is_read_as_a_block() -> None:
    block = parsed("function f(a: str, b = 1) -> c:\n  throw\n").program.statements[0]
    assert isinstance(block, nodes.Block)
    assert (block.name.text, [name.text for name in block.parameters]) == ("f", ["a", "b"])
    assert len(block.body.statements) == 1


def test_many_unterminated_strings_take_linear_time() -> None:
    assert len(found('session "a\nb\n' * 3000)) >= 3000
    assert found('session "a\n' + "b\n" * 30000 + '"\n')


def test_words_of_forks_declare_their_names() -> None:
    for text, name in (
        ('ask name: "What?"\n', "name"),
        ('gate g:\n  prompt: "a"\n', "g"),
        ("foreach x in xs:\n  throw\n", "x"),
        ("var x = 1\n", "x"),
        ('requires x: "a"\n', "x"),
    ):
        broken = parsed(text).program.statements[0]
        assert isinstance(broken, nodes.Broken) and name in broken.names
