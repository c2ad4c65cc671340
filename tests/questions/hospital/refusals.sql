-- What cannot be asked, by the code of the refusal; where the remedy shows a question, it is answered.

-- Rows of people.
SELECT * FROM people;
--code> returns_rows
--remedy> SELECT COUNT(*) FROM people

-- A column of people.
SELECT name, city FROM people WHERE smoker;
--code> returns_rows
--remedy> SELECT name, city, COUNT(*) FROM people WHERE smoker GROUP BY name, city

-- The ten most expensive visits.
SELECT ward, cost FROM visits ORDER BY cost DESC LIMIT 10;
--code> returns_rows
--remedy> SELECT ward, cost, COUNT(*) FROM visits GROUP BY ward, cost

-- A list of different names.
SELECT DISTINCT name FROM people;
--code> returns_rows
--remedy> SELECT name, COUNT(*) FROM people GROUP BY name

-- Rows of a join.
SELECT p.sex, v.ward FROM people p JOIN visits v ON v.person_id = p.person_id;
--code> returns_rows
--remedy> SELECT p.sex, v.ward, COUNT(*) FROM people AS p JOIN visits AS v ON v.person_id = p.person_id GROUP BY p.sex, v.ward

-- Rows of a subquery.
SELECT n FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t;
--code> returns_rows
--remedy> SELECT n, COUNT(*) FROM (SELECT person_id, COUNT(*) AS n FROM visits GROUP BY person_id) AS t GROUP BY n

-- Rows of a common table expression.
WITH v AS (SELECT ward, cost FROM visits) SELECT ward FROM v WHERE cost > 10;
--code> returns_rows
--remedy> WITH v AS (SELECT ward, cost FROM visits) SELECT ward, COUNT(*) FROM v WHERE cost > 10 GROUP BY ward

-- One person by number.
SELECT COUNT(*) FROM visits WHERE person_id = 17;
--code> unit_column

-- Groups of one person each.
SELECT person_id, COUNT(*) FROM visits GROUP BY person_id;
--code> returns_individuals

-- Groups of one visit each.
SELECT visit_id, SUM(cost) FROM visits GROUP BY visit_id;
--code> returns_individuals

-- The largest number of a person.
SELECT MAX(person_id) FROM people;
--code> unit_column

-- People of different units side by side.
SELECT COUNT(*) FROM people a JOIN people b ON a.city = b.city;
--code> join_across_units

-- Everybody with everybody.
SELECT COUNT(*) FROM people a, people b;
--code> join_across_units

-- Visits and diagnoses joined by something else.
SELECT COUNT(*) FROM visits v JOIN diagnoses d ON v.severity = d.score;
--code> join_across_units

-- A foreign key joined to another's.
SELECT COUNT(*) FROM visits v JOIN diagnoses d ON v.person_id = d.visit_id;
--code> unit_column

-- An exact mean over everybody, inside.
SELECT COUNT(*) FROM people WHERE income > (SELECT AVG(income) FROM people);
--code> subquery_across_units

-- Exact counts by city, inside.
SELECT AVG(n) FROM (SELECT city, COUNT(*) AS n FROM people GROUP BY city) AS t;
--code> subquery_across_units

-- A total over everybody, inside.
SELECT COUNT(*) FROM (SELECT SUM(cost) AS total FROM visits) AS t;
--code> subquery_across_units

-- Whether anybody at all has something.
SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.ward = 'oncology');
--code> subquery_across_units

-- Doctors of other people.
SELECT COUNT(*) FROM visits WHERE doctor IN (SELECT doctor FROM visits WHERE cost > 5000);
--code> subquery_across_units

-- A window over everybody.
SELECT COUNT(*) FROM (SELECT RANK() OVER (ORDER BY income) AS r FROM people) AS t WHERE r <= 10;
--code> window_across_units

-- A window by city.
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY city ORDER BY born) AS r FROM people) AS t WHERE r = 1;
--code> window_across_units

-- Different cities of everybody, inside.
SELECT COUNT(*) FROM (SELECT DISTINCT city FROM people) AS c;
--code> distinct_across_units

-- Public and private rows in one list.
SELECT COUNT(*) FROM (SELECT city FROM people UNION ALL SELECT city FROM cities) AS c;
--code> subquery_across_units

-- Names of everybody in one text.
SELECT STRING_AGG(name, ', ') FROM people;
--code> construct_unsupported

-- Values in a list.
SELECT LIST(cost) FROM visits;
--code> construct_unsupported

-- Any one value.
SELECT ANY_VALUE(income) FROM people;
--code> construct_unsupported

-- A sum of unbounded lengths.
SELECT SUM(LENGTH(notes) * 1000000000) FROM visits;
--code> bounds_too_wide

-- A smallest date.
SELECT MIN(born) FROM people;
--code> type_mismatch

-- A mean of text.
SELECT AVG(name) FROM people;
--code> type_mismatch

-- A column that is not grouped.
SELECT sex, city, COUNT(*) FROM people GROUP BY sex;
--code> column_not_grouped

-- An aggregate in WHERE.
SELECT ward FROM visits WHERE COUNT(*) > 3 GROUP BY ward;
--code> aggregate_inside

-- An aggregate in an aggregate.
SELECT AVG(SUM(cost)) FROM visits GROUP BY ward;
--code> aggregate_inside

-- A column that is not there.
SELECT AVG(heigth) FROM people;
--code> column_unknown

-- A table that is not there.
SELECT COUNT(*) FROM patients;
--code> table_unknown

-- A column that two tables have.
SELECT COUNT(*) FROM visits JOIN wards ON TRUE WHERE ward = 'surgery';
--code> column_ambiguous

-- Two tables of one name.
SELECT COUNT(*) FROM visits v JOIN people v ON TRUE;
--code> alias_twice

-- A key without a precision.
SELECT weight, COUNT(*) FROM people GROUP BY weight;
--code> key_not_rounded

-- Different values without a precision.
SELECT COUNT(DISTINCT weight) FROM people;
--code> distinct_real

-- A sum of different values.
SELECT SUM(DISTINCT cost) FROM visits;
--code> distinct_unsupported

-- What the clock says.
SELECT COUNT(*) FROM people WHERE born < CURRENT_DATE - INTERVAL 18 YEAR;
--code> construct_unsupported

-- A sample.
SELECT COUNT(*) FROM people TABLESAMPLE 10 PERCENT;
--code> clause_unsupported

-- A question that never ends.
WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT COUNT(*) FROM r;
--code> clause_unsupported

-- Two questions.
SELECT COUNT(*) FROM people; SELECT COUNT(*) FROM visits;
--code> one_statement

-- Not a question.
DELETE FROM people;
--code> not_a_select
--remedy> SELECT COUNT(*) FROM people

-- Files of the machine.
SELECT COUNT(*) FROM read_csv('/etc/passwd');
--code> not_a_table

-- Functions that do not exist.
SELECT AVG(squareroot(cost)) FROM visits;
--code> construct_unsupported

-- A frame.
SELECT AVG(x) FROM (SELECT AVG(cost) OVER (PARTITION BY person_id ORDER BY arrived ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS x FROM visits) AS t;
--code> window_frame

-- Wards without visits counted as one each.
SELECT w.kind, COUNT(*) FROM wards w LEFT JOIN visits v ON v.ward = w.ward GROUP BY w.kind;
--code> orphans_counted

-- A position that is not there.
SELECT ward, COUNT(*) FROM visits GROUP BY 3;
--code> position_invalid

-- A limit that is not a number.
SELECT ward, COUNT(*) FROM visits GROUP BY ward LIMIT ALL;
--code> limit_invalid
