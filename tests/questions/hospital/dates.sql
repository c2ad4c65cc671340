-- Dates, moments and the time between them.

-- Visits by month.
SELECT DATE_TRUNC('month', arrived) AS month, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY month ORDER BY month;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, 24 values of trunc_month(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Visits by quarter.
SELECT DATE_TRUNC('quarter', arrived) AS quarter, COUNT(*), SUM(cost) FROM visits WHERE arrived IS NOT NULL GROUP BY quarter ORDER BY quarter;
--plan> reads visits; protects person_id, at most 12 rows in 8 groups, 12 in one
--plan> groups: public, 8 values of trunc_quarter(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
--plan> sum of cost in steps of 0.01 scaled to L1 12 rows in parts of 1/1: L1 12000000, Linf 12000000, L2² 144000000000000; DiscreteLaplace

-- Visits by year and month as numbers.
SELECT YEAR(arrived) AS y, MONTH(arrived) AS m, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY y, m HAVING COUNT(*) > 0 ORDER BY y, m;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, 2023/2024 of part_year(arrived) × 12 values of part_month(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Visits by day of the week.
SELECT DAYOFWEEK(arrived) AS d, ISODOW(arrived) AS i, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY d, i HAVING COUNT(*) > 0;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, 7 values of part_dayofweek(arrived) × 7 values of part_isodow(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- By the name of the day.
SELECT DAYNAME(arrived) AS d, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY d;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by dayname(arrived)
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- By the name of the month.
SELECT MONTHNAME(arrived) AS m, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY m;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by monthname(arrived)
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- By the hour of the day.
SELECT EXTRACT(HOUR FROM arrived) AS hour, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY hour HAVING COUNT(*) > 0 ORDER BY hour;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, 24 values of part_hour(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Nights and days.
SELECT CASE WHEN HOUR(arrived) BETWEEN 6 AND 21 THEN 'day' ELSE 'night' END AS shift, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY shift;
--plan> reads visits; protects person_id, at most 12 rows in 2 groups, 12 in one
--plan> groups: public, day/night of case(between(part_hour(arrived), 6, 21), 'day', 'night')
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- By week of the year.
SELECT WEEK(arrived) AS w, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY w HAVING COUNT(*) > 0 ORDER BY w;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, 53 values of part_week(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- By half a year, from the quarter.
SELECT IF(QUARTER(arrived) <= 2, 'first half', 'second half') AS half, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY half;
--plan> reads visits; protects person_id, at most 12 rows in 2 groups, 12 in one
--plan> groups: public, first half/second half of case(less_equal(part_quarter(arrived), 2), 'first half', 'second half')
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace

-- Visits in a year, by a range.
SELECT COUNT(*) FROM visits WHERE arrived >= '2024-01-01' AND arrived < '2025-01-01';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Visits in a month, by BETWEEN and constants of both types.
SELECT COUNT(*) FROM visits WHERE arrived BETWEEN TIMESTAMP '2024-02-01 00:00:00' AND DATE '2024-02-29';
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- By a date written out.
SELECT COUNT(*) FROM people WHERE born = DATE '1988-02-29';
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- How old people were on a day.
SELECT DATE_DIFF('year', born, DATE '2024-06-30') AS age, COUNT(*) FROM people WHERE born < DATE '1940-01-01' GROUP BY age HAVING COUNT(*) > 0 ORDER BY age;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 20 values of diff_year(born, datetime.date(2024, 6, 30))
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- Complete years, by decades.
SELECT DATE_SUB('year', born, DATE '2024-12-31') // 10 * 10 AS decade, COUNT(*) FROM people WHERE born IS NOT NULL GROUP BY decade HAVING COUNT(*) > 0 ORDER BY decade;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 13 values of multiply(integer_divide(full_year(born, datetime.date(2024, 12, 31)), 10), 10)
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- The mean age.
SELECT AVG(DATE_DIFF('day', born, DATE '2025-01-01') / 365.25) FROM people;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: one
--plan> sum of divide(diff_day(born, datetime.date(2025, 1, 1)), 365.25) in steps of 1/524288 from 27526376: L1 27524940, Linf 27524940, L2² 757622322003600; SummedNoise
--plan> rows with a value of divide(diff_day(born, datetime.date(2025, 1, 1)), 365.25): L1 27524940, Linf 27524940, L2² 757622322003600; SummedNoise

-- The mean stay in hours.
SELECT AVG(DATE_DIFF('hour', arrived, discharged)) FROM visits WHERE discharged >= arrived;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of diff_hour(arrived, discharged) in steps of 0.5 from 744: L1 429960, Linf 429960, L2² 184865601600; SummedNoise
--plan> rows with a value of diff_hour(arrived, discharged): L1 429960, Linf 429960, L2² 184865601600; SummedNoise

-- The mean stay in days, from seconds.
SELECT AVG((EPOCH(discharged) - EPOCH(arrived)) / 86400.0) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> sum of divide(subtract(epoch(discharged), epoch(arrived)), 86400.0) in steps of 1/32768 from 507904: L1 293535744, Linf 293535744, L2² 86163233005633536; SummedNoise
--plan> rows with a value of divide(subtract(epoch(discharged), epoch(arrived)), 86400.0): L1 293535744, Linf 293535744, L2² 86163233005633536; SummedNoise

-- Long stays.
SELECT COUNT(*) FROM visits WHERE discharged > arrived + INTERVAL 2 DAY;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Stays that went past midnight.
SELECT COUNT(*) FROM visits WHERE CAST(discharged AS DATE) > CAST(arrived AS DATE);
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Noted within a week of the first of January.
SELECT COUNT(*) FROM diagnoses WHERE noted BETWEEN DATE '2024-01-01' AND DATE '2024-01-01' + INTERVAL 7 DAY;
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- Days after the beginning of the year.
SELECT AVG(noted - DATE '2023-01-01') FROM diagnoses;
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> sum of diff_day(datetime.date(2023, 1, 1), noted) in steps of 0.5 from 761: L1 438336, Linf 438336, L2² 192138448896; SummedNoise
--plan> rows with a value of diff_day(datetime.date(2023, 1, 1), noted): L1 438336, Linf 438336, L2² 192138448896; SummedNoise

-- Months added.
SELECT COUNT(*) FROM diagnoses WHERE noted + INTERVAL 3 MONTH > DATE '2024-12-31';
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- The last day of the month.
SELECT LAST_DAY(noted) AS month_end, COUNT(*) FROM diagnoses WHERE noted IS NOT NULL GROUP BY month_end HAVING COUNT(*) > 0;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: public, 732 values of last_day(noted)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace

-- A year and month as text; one that a single person came in is never shown.
SELECT STRFTIME(arrived, '%Y-%m') AS month, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY month;
--duckdb> SELECT STRFTIME(arrived, '%Y-%m') AS month, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY month HAVING COUNT(DISTINCT person_id) > 1
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: selected privately, by strftime(arrived, '%Y-%m')
--plan> rows scaled to L2² 41 rows in parts of 1/131072: L1 704374636544, Linf 839270, L2² 704374636544; DiscreteGaussian
--plan> units weighted by their groups in steps of 1/1024: L1 3548, Linf 1024, L2² 1048576; DiscreteGaussian

-- BigQuery's format.
SELECT FORMAT_DATE('%Y', noted) AS y, COUNT(*) FROM diagnoses WHERE noted IS NOT NULL GROUP BY y;
--duckdb> SELECT STRFTIME(noted, '%Y') AS y, COUNT(*) FROM diagnoses WHERE noted IS NOT NULL GROUP BY y
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by strftime(noted, '%Y')
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- PostgreSQL's format.
SELECT TO_CHAR(noted, 'YYYY-MM') AS m, COUNT(*) FROM diagnoses WHERE noted IS NOT NULL GROUP BY m;
--duckdb> SELECT STRFTIME(noted, '%Y-%m') AS m, COUNT(*) FROM diagnoses WHERE noted IS NOT NULL GROUP BY m
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: selected privately, by strftime(noted, '%Y-%m')
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace
--plan> units: L1 36, Linf 1, L2² 36; TruncatedGeometric

-- A day of the year.
SELECT COUNT(*) FROM visits WHERE DAYOFYEAR(arrived) <= 31 OR DAY(arrived) = 15;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- A date from its parts.
SELECT COUNT(*) FROM diagnoses WHERE noted >= MAKE_DATE(2024, 6, 1);
--plan> reads diagnoses; protects person_id, at most 36 rows in 1 group, 36 in one
--plan> groups: one
--plan> rows: L1 36, Linf 36, L2² 1296; DiscreteLaplace

-- Decades and centuries of birth.
SELECT DECADE(born) AS d, CENTURY(born) AS c, COUNT(*) FROM people WHERE born IS NOT NULL GROUP BY d, c HAVING COUNT(*) > 0;
--plan> reads people; protects person_id, at most 1 row in 1 group, 1 in one
--plan> groups: public, 11 values of part_decade(born) × 20/21 of part_century(born)
--plan> units: L1 1, Linf 1, L2² 1; DiscreteLaplace

-- DATE_PART in both spellings.
SELECT DATE_PART('year', noted) AS y, EXTRACT(month FROM noted) AS m, COUNT(*) FROM diagnoses WHERE noted IS NOT NULL GROUP BY y, m HAVING COUNT(*) > 0;
--plan> reads diagnoses; protects person_id, at most 36 rows in 36 groups, 36 in one
--plan> groups: public, 2023/2024/2025 of part_year(noted) × 12 values of part_month(noted)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace

-- The first and last year seen.
SELECT MIN(YEAR(arrived)), MAX(YEAR(arrived)) FROM visits;
--plan> reads visits; protects person_id, at most 12 rows in 1 group, 12 in one
--plan> groups: one
--plan> rows on either side of a value of part_year(arrived) at 0, 1 in steps of 1/1048576: L1 25165824, Linf 25165824, L2² 633318697598976; Geometric
--plan> rows between values around the picked ones: L1 12, Linf 12, L2² 144; DiscreteLaplace

-- Weeks from Monday.
SELECT DATE_TRUNC('week', noted) AS week, COUNT(*) FROM diagnoses WHERE noted >= '2024-11-01' GROUP BY week HAVING COUNT(*) > 0 ORDER BY week;
--plan> reads diagnoses; protects person_id, at most 36 rows in 14 groups, 36 in one
--plan> groups: public, 14 values of trunc_week(noted)
--plan> rows scaled to L1 36 rows in parts of 1/16384: L1 589824, Linf 589824, L2² 347892350976; DiscreteLaplace

-- Days without a visit are shown too.
SELECT CAST(arrived AS DATE) AS day, COUNT(*) FROM visits WHERE arrived IS NOT NULL GROUP BY day ORDER BY day LIMIT 0;
--plan> reads visits; protects person_id, at most 12 rows in 12 groups, 12 in one
--plan> groups: public, 731 values of cast_date(arrived)
--plan> rows scaled to L1 12 rows in parts of 1/65536: L1 786432, Linf 786432, L2² 618475290624; DiscreteLaplace
