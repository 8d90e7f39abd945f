"""Programs of any size for benchmarks: real constructs in real proportions, every name different."""

from __future__ import annotations

CHAPTER = '''\
# Chapter {n}: research, review, decide, publish.
agent researcher-{n}:
  model: sonnet
  prompt: """
    You research topic {n} for a team of engineers.
    Answer with JSON such as {{"findings": [{{"title": "...", "source": "..."}}]}}.
    Never invent a source.
    """
  permissions:
    read: ["docs/**", "notes/{n}/*.md"]
    bash: deny

# Review one text, and say what is wrong with it.
block review-{n}(text, depth) (max_depth: 4):
  let verdict = session "Review this: {{text}}"
    retry: 2
    backoff: exponential
  if depth > 0 and **the verdict asks for another round**:
    output do review-{n}(verdict, depth - 1)
  output verdict

let topic-{n} = "The state of topic {n}"
let sources_{n} = session: researcher-{n}
  prompt: """
    List the sources on {{topic-{n}}}, one a line. Use the shell for it:
      curl -s "https://example.org/api?q={n}" | jq '.items[] | {{title, url}}'
    and leave out what is older than two years.
    """

parallel (on-fail: "continue"):
  costs_{n} = session: researcher-{n} "What does it cost?"
    context: sources_{n}
  risks_{n} = session: researcher-{n} "What could go wrong?"
    context: {{ sources_{n} }}
  people_{n} = do review-{n}(sources_{n}, 2)

let checked_{n} = sources_{n} | filter: **the source can be trusted** | pmap:
  session "Summarise {{item}} in three sentences"

for source, i in checked_{n}:
  let note = session "Write a note on source number {{i}}"
    context: source
  if **the note contradicts an earlier one**:
    session "Explain the contradiction"
      context: [note, source]
  elif i > 3:
    session "File it"

let draft_{n} = session "Write the chapter"
  context: {{ topic: topic-{n}, costs_{n}, risks_{n}, people_{n} }}

loop until **draft_{n} is clear, complete and under 1,000 words** (max: 3) as round:
  draft_{n} = session "Improve the draft (round {{round}})"
    context: draft_{n}

choice **what should happen to draft_{n}**:
  option "Publish it":
    session "Publish the draft"
      context: draft_{n}
  option "Ask an editor":
    session "Write to the editor"

try:
  session "Archive everything"
    retry: 3
catch as problem:
  session "Say what went wrong: {{problem}}"

output chapter_{n} = draft_{n}

'''


def program(lines: int) -> str:
    """A program of about this many lines."""
    chapters: list[str] = []
    count = 0
    number = 1
    while count < lines:
        chapter = CHAPTER.format(n=number)
        chapters.append(chapter)
        count += chapter.count("\n")
        number += 1
    return "".join(chapters)
