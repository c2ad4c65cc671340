"""What flew from New York in 2013, in round figures: airlines, airports, months and hours.

The figures are those of the public `nycflights13` tables, from which `flights.py` makes its look-alike.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Airline:
    """An airline: its flights, its planes, their share of each origin, and its usual delay."""

    name: str
    flights: int
    planes: int
    origins: tuple[int, int, int]  # EWR, JFK, LGA
    delay: float  # mean minutes at departure


@dataclass(frozen=True)
class Airport:
    """A destination: its flights, how far away it is, and which airlines go there."""

    flights: int
    miles: int
    airlines: tuple[str, ...]


ORIGINS = ("EWR", "JFK", "LGA")

AIRLINES = {
    "9E": Airline("Endeavor Air", 18_460, 204, (7, 79, 14), 16.7),
    "AA": Airline("American Airlines", 32_729, 601, (11, 42, 47), 8.6),
    "AS": Airline("Alaska Airlines", 714, 84, (100, 0, 0), 5.8),
    "B6": Airline("JetBlue Airways", 54_635, 193, (12, 77, 11), 13.0),
    "DL": Airline("Delta Air Lines", 48_110, 629, (9, 43, 48), 9.3),
    "EV": Airline("ExpressJet Airlines", 54_173, 316, (81, 3, 16), 20.0),
    "F9": Airline("Frontier Airlines", 685, 26, (0, 0, 100), 20.2),
    "FL": Airline("AirTran Airways", 3_260, 129, (0, 0, 100), 18.7),
    "HA": Airline("Hawaiian Airlines", 342, 14, (0, 100, 0), 4.9),
    "MQ": Airline("Envoy Air", 26_397, 238, (9, 27, 64), 10.6),
    "OO": Airline("SkyWest Airlines", 32, 28, (20, 0, 80), 12.6),
    "UA": Airline("United Air Lines", 58_665, 621, (78, 8, 14), 12.1),
    "US": Airline("US Airways", 20_536, 290, (21, 15, 64), 3.8),
    "VX": Airline("Virgin America", 5_162, 53, (30, 70, 0), 12.9),
    "WN": Airline("Southwest Airlines", 12_275, 559, (50, 0, 50), 17.7),
    "YV": Airline("Mesa Airlines", 601, 58, (0, 0, 100), 19.0),
}

_DESTINATIONS = """
ORD 17283 733 UA AA MQ B6 9E EV OO | ATL 17215 760 DL FL MQ EV WN UA 9E | LAX 16174 2469 UA AA DL B6 VX
BOS 15508 190 B6 US UA 9E DL AA MQ EV | MCO 14082 944 B6 DL UA AA WN | CLT 14064 538 US EV MQ 9E B6 YV
SFO 13331 2578 UA AA DL B6 VX | FLL 12055 1070 B6 DL UA AA | MIA 11728 1092 AA DL UA
DCA 9705 211 US 9E EV MQ DL B6 | DTW 9384 498 DL EV MQ 9E OO | DFW 8738 1383 AA UA EV
RDU 8163 427 EV MQ B6 9E | TPA 7466 1003 B6 DL UA AA | DEN 7266 1615 UA DL WN F9 B6
IAH 7198 1409 UA AA EV OO | MSP 7185 1017 DL EV UA MQ 9E | PBI 6554 1028 B6 DL UA
BNA 6333 758 EV MQ WN 9E DL | LAS 5997 2241 UA DL B6 VX AA | SJU 5819 1599 B6 AA UA DL
IAD 5700 225 EV UA B6 9E YV OO | BUF 4681 296 B6 EV 9E DL | PHX 4656 2141 US UA WN DL B6
CLE 4573 414 EV UA MQ 9E OO | STL 4339 878 MQ EV AA WN UA | MDW 4113 718 WN
CVG 3941 576 EV 9E DL MQ | SEA 3923 2412 AS DL UA B6 AA | MSY 3799 1178 UA DL B6 EV WN
RSW 3537 1073 B6 UA DL | CMH 3524 476 MQ EV AA 9E | CHS 2884 633 EV B6 9E UA
PIT 2875 336 EV 9E MQ DL B6 UA | MKE 2802 735 FL EV WN 9E | SAN 2737 2438 UA DL B6 AA VX
JAX 2720 828 B6 EV DL 9E | BTV 2589 265 EV B6 9E | SLC 2467 1986 DL B6
RIC 2454 284 EV 9E B6 | AUS 2439 1514 UA B6 DL AA WN
ROC 2416 261 EV B6 9E | PWM 2352 276 B6 EV 9E DL | HOU 2115 1420 WN B6 | IND 2077 660 EV 9E DL
MCI 2008 1097 EV 9E DL | MEM 1789 957 EV DL 9E | BWI 1781 179 EV WN 9E MQ B6 | SYR 1761 205 EV B6 9E
PHL 1632 94 US 9E YV DL | GSO 1606 457 EV 9E | ORF 1536 291 EV 9E MQ | DAY 1525 541 EV 9E
PDX 1354 2446 UA DL B6 | SRQ 1211 1042 B6 DL EV | SDF 1157 650 EV 9E UA | XNA 1036 1138 MQ EV
MHT 1009 207 EV 9E | BQN 896 1581 B6 UA | CAK 864 398 FL EV | OMA 849 1135 EV UA DL
GSP 849 596 EV | SNA 825 2434 UA | SAV 804 716 EV B6 9E | GRR 765 606 EV 9E | HNL 707 4973 HA UA
SAT 686 1578 UA EV 9E DL | LGB 668 2465 B6 | TYS 631 636 EV 9E | MSN 572 803 EV 9E
DSM 569 1020 EV 9E | STT 522 1626 AA DL UA | BDL 443 116 EV UA | ALB 439 143 EV
PVD 376 160 EV | BGR 375 378 EV | BUR 371 2465 B6 | PSE 365 1617 B6 | OKC 346 1325 EV
SJC 329 2569 B6 | TUL 315 1215 EV | OAK 312 2576 B6 | BHM 297 866 EV | SMF 284 2521 B6
AVL 275 584 EV | ACK 265 199 B6 | ABQ 254 1826 B6 | MVY 221 173 B6 | EGE 213 1736 UA AA
CRW 138 444 MQ | CAE 116 604 EV | ILM 110 500 EV | TVC 101 652 EV MQ OO | MYR 59 551 EV
CHO 52 305 EV | BZN 36 1882 UA | JAC 25 1876 UA DL | PSP 19 2378 VX | EYW 17 1207 DL
HDN 15 1728 UA | MTJ 15 1795 UA | SBN 10 645 EV UA | ANC 8 3370 UA | LEX 1 604 EV | LGA 1 17 US
"""


def _airports() -> dict[str, Airport]:
    found = {}
    for line in _DESTINATIONS.replace("\n", "|").split("|"):
        if line.strip():
            code, flights, miles, *airlines = line.split()
            found[code] = Airport(int(flights), int(miles), tuple(airlines))
    return found


AIRPORTS = _airports()

MONTHS = (
    27_004, 24_951, 28_834, 28_330, 28_796, 28_243, 29_425, 29_327, 27_574, 28_889, 27_268, 28_135
)  # fmt: skip
LATE_BY_MONTH = (1.0, 1.05, 1.15, 1.1, 1.05, 1.5, 1.55, 1.0, 0.65, 0.6, 0.55, 1.25)
HOURS = {
    5: 1_953, 6: 25_951, 7: 22_821, 8: 27_242, 9: 20_312, 10: 16_708, 11: 16_033, 12: 18_181, 13: 19_956,
    14: 21_706, 15: 23_888, 16: 23_002, 17: 24_426, 18: 21_783, 19: 21_441, 20: 16_739, 21: 10_933,
    22: 2_639, 23: 1_061,
}  # fmt: skip

FLIGHTS = sum(airline.flights for airline in AIRLINES.values())
PLANES = sum(airline.planes for airline in AIRLINES.values())
