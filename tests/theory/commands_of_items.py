"""The commands of docs/paper_to_code.md with everything that they need, so that a test can run them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from exact.towns import AMOUNT, SCORE, write_people, write_policy
from sanql.theory.implications.guarantees import KINDS

CHANNEL = {
    "databases": {
        "0,0": ["3/4", "1/4"],
        "0,1": ["1/2", "1/2"],
        "1,0": ["1/2", "1/2"],
        "1,1": ["1/4", "3/4"],
    },
    "outputs": ["no", "yes"],
    "worlds": [{"0,0": "1/4", "0,1": "1/4", "1,0": "1/4", "1,1": "1/4"}],
    "secrets": {"first": {"0,0": 0, "0,1": 0, "1,0": 1, "1,1": 1}},
    "protections": ["records"],
}
FUNCTION = {
    "databases": {"0,0": {"0": 1}, "0,1": {"1": 1}, "1,0": {"1": 1}, "1,1": {"1": 1}},
    "laws": [{"0": "1/4", "1": "3/4"}],
}
CROWDS = {
    "databases": {"": {"0": 1}, "0": {"0": 1}, "0,0": {"0": "1/2", "2": "1/2"}},
    "neighbours": "add-remove",
}
LEVELS = {
    "epsilon": "0.1",
    "delta": "0.000001",
    "tau": "0.1",
    "failure": "0.001",
    "delta_hat": "0.01",
}
SETTING = (
    "--records 3 --group 2 --protections 3 --values 2 --tau 0.4 --delta-hat 0.01 "
    "--simulator-epsilon 0.1 --simulator-delta 0.000001 --every-distribution --independent-records "
    "--binary-secrets --record-protections"
)
SUM = "--records 1000 --eta 0.25 --lower 0 --upper 1 --delta 0.000001"
LAWS = "--law 0.6,0.4 --law 0.4,0.6"
RUNS = {
    "theory compare --p --q": "--p 3/4,1/4 --q 1/2,1/2 --epsilon 0.1",
    "theory compare --p --q --weight": "--p 3/4,1/4 --q 1/2,1/2 --p 1,0 --q 1/2,1/2 "
    "--weight 1/2 --weight 1/2",
    "theory compare --p --q --accept": "--p 3/4,1/4 --q 1/2,1/2 --accept 0",
    "theory example": "first-row",
    "theory example --people": "random-row --people 3",
    "theory example --width": "uniform-noise --width 4",
    "theory choose": "--prior 0.1 --posterior-at-most 0.2",
    "theory sensitivity": "sum",
    "theory sensitivity --counted": "count --counted 1",
    "theory sensitivity --values": "sum --values 0,5",
    "theory plot --epsilon": "density --epsilon 0.5 --output {folder}/density.png",
    "theory plot tradeoff": "--output {folder}/tradeoff.png",
    "theory plot count --epsilon": "--epsilon 0.5 --output {folder}/count.png",
    "theory meaning --mechanism --scale": "--mechanism laplace --scale 2 --prior 0.1",
    "theory draw --seen": "{channel} games --seen yes --output {folder}/games.png",
    "theory draw --null --alternative": "{channel} tests --null 1,1 --alternative 0,1 "
    "--output {folder}/tests.png",
    "theory attack parity": "",
    "theory attack mu": "",
    "theory attack a2": "",
    "theory attack low-bits --bits": "--bits 10",
    "theory attack membership --member --absent --false-alarms": "{channel} --member 1,1 "
    "--absent 0,1 --false-alarms 1/20",
    "theory predicates --tau": "{channel} --tau 1/10",
    "theory beliefs --epsilon": "--epsilon 1",
    "theory crowd --epsilon": "{crowds} --epsilon 0",
    "theory crowd --rate --smallest --delta": "--rate 1/10 --people 20 --smallest 3 --delta 1/100",
    "theory harm --epsilon --baseline": "--epsilon 1 --baseline 1/10",
    "theory deny --prior": "{channel} --prior 1/3",
    "theory stable --known": "{function} --known 0",
    "theory good-set --scale --epsilon --eta": "{function} --scale 1 --epsilon 0.5 --eta 0.01",
    "theory sizes --population --rate --epsilon": "--population 100 --rate 0.5 --epsilon 0.5",
    "theory noninterference --low": "{channel} --low 1",
    "theory laplace --uniform --scale": "--uniform 0.3 --scale 2",
    "explain --exact": "--exact --policy {town} 'SELECT region, SUM(amount) FROM people "
    "GROUP BY region'",
    "certify local --eta": "--eta 0.01 --records 100 --epsilon 0.5 --delta 0.000000001",
    "certify sum": SUM,
    "certify sum --known": f"{SUM} --known 500",
    "certify sum --noiseless": f"{SUM} --noiseless",
    "certify histogram": "--rate 0.5 --threshold 100 --delta 0.000001",
    "certify histogram --population --sample": "--population 120 --sample 60 --epsilon-size 0.5 "
    "--threshold 30 --epsilon 1",
    "certify histogram --poisson": "--poisson --threshold 100 --delta 0.000001",
    "certify verdict --law --function": f"{LAWS} --function mode --records 30 --epsilon 0",
    "certify stable --instability --least-output": "--instability 0.001 --least-output 0.1",
    "certify map": f"{LAWS} --records 30 --epsilon 0",
    "certify map --plot": f"{LAWS} --records 30 --epsilon 0 --plot {{folder}}/map.png",
    "certify map --law --with-noise": f"{LAWS} --records 30 --with-noise 0.5 --epsilon 0",
}


def as_run(words: str, folder: Path) -> list[str]:
    """Return a command of the page as it can be run in a folder."""
    (folder / "town").mkdir()
    write_people(folder / "town")
    both = "".join(
        text.replace("known_records = 5", f'known_records = 5, known_columns = ["{other}"]')
        for text, other in ((AMOUNT, "score"), (SCORE.replace(', "urban"', ""), "amount"))
    )
    town = write_policy(folder / "town", both)
    channel, crowds = folder / "channel.json", folder / "crowds.json"
    channel.write_text(json.dumps(CHANNEL), encoding="utf-8")
    crowds.write_text(json.dumps(CROWDS), encoding="utf-8")
    function = folder / "function.json"
    function.write_text(json.dumps(FUNCTION), encoding="utf-8")
    said = shlex.split(words)
    if said[:2] == ["theory", "implications"]:
        named = ", ".join(f"{name}={LEVELS[name]}" for name in KINDS[said[2]][0])
        return [*said[:2], f"{said[2]}({named})", *shlex.split(SETTING)]
    if said[:2] == ["theory", "check"]:
        return [*said[:2], str(channel), *said[2:], *(["1"] if said[-1] == "--epsilon" else [])]
    stated = RUNS[words].format(
        folder=folder, channel=channel, crowds=crowds, town=town, function=function
    )
    return [*(word for word in said if not word.startswith("--")), *shlex.split(stated)]
