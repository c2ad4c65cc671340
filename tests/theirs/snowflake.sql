CREATE TABLE patients (patient_id BIGINT, state VARCHAR, gender VARCHAR, age INTEGER, salary DOUBLE, diagnosed DATE, smoker BOOLEAN);
INSERT INTO patients VALUES (1, 'CA', 'F', 30, 50000, DATE '2020-02-02', TRUE), (2, 'NY', 'M', 60, 90000, DATE '2021-03-04', FALSE);
CREATE TABLE claims (claim_id BIGINT, patient_id BIGINT, amount DOUBLE, filed TIMESTAMP, code VARCHAR);
INSERT INTO claims VALUES (11, 1, 120.5, TIMESTAMP '2021-01-01 08:00:00', 'A1'), (12, 2, 80, TIMESTAMP '2022-06-01 09:30:00', 'B2');
CREATE TABLE states (abbr VARCHAR, region VARCHAR, population BIGINT);
INSERT INTO states VALUES ('CA', 'West', 39000000), ('NY', 'East', 19000000), ('TX', 'South', 30000000);

SELECT COUNT(salary) AS c, DP_INTERVAL_LOW(c) AS low, DP_INTERVAL_HIGH(c) AS high FROM patients WHERE salary BETWEEN 10000 AND 200000;
SELECT COUNT(DISTINCT patient_id) AS n FROM claims WHERE amount > 1000;
SELECT state, AVG(age) AS a, DP_INTERVAL_HIGH(a) - DP_INTERVAL_LOW(a) AS width FROM patients GROUP BY state;
SELECT SUM(GREATEST(LEAST(amount, 500), 0)) AS total FROM claims;
SELECT COUNT_IF(smoker) / COUNT(*) AS share FROM patients;
SELECT DATE_TRUNC('quarter', filed)::DATE AS q, SUM(amount)::NUMBER(12, 2) AS total FROM claims GROUP BY q ORDER BY q;
SELECT YEAR(filed) AS y, MONTHNAME(filed) AS m, COUNT(*) FROM claims GROUP BY ALL;
SELECT s.region, COUNT(*) FROM patients p JOIN states s ON p.state = s.abbr GROUP BY s.region;
SELECT s.abbr, ZEROIFNULL(COUNT(p.patient_id)) AS n FROM states s LEFT JOIN patients p ON p.state = s.abbr GROUP BY s.abbr;
SELECT IFF(age >= 65, 'senior', 'adult') AS who, MEDIAN(salary) FROM patients GROUP BY who;
SELECT DECODE(state, 'CA', 'California', 'NY', 'New York', 'other') AS name, COUNT(*) FROM patients GROUP BY 1;
SELECT NVL2(gender, 'known', 'unknown') AS g, COUNT(*) FROM patients GROUP BY g;
SELECT APPROX_PERCENTILE(amount, 0.95) FROM claims;
SELECT p.state, COUNT(DISTINCT c.patient_id) FROM patients p INNER JOIN claims c ON c.patient_id = p.patient_id WHERE c.filed >= '2022-01-01'::TIMESTAMP GROUP BY p.state;
SELECT n, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM claims GROUP BY patient_id) GROUP BY n ORDER BY n;
SELECT DATEDIFF('day', diagnosed, DATE '2024-12-31') // 365 AS years, COUNT(*) FROM patients GROUP BY years;
SELECT DATEDIFF(year, diagnosed, '2024-12-31') AS years, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE diagnosed > DATEADD(month, -6, DATE '2024-06-30');
SELECT COUNT(*) FROM patients WHERE state ILIKE ANY ('c%', 'n%');
SELECT COUNT(*) FROM patients WHERE gender RLIKE 'F.*' AND NOT smoker;
SELECT VARIANCE(age), STDDEV(age), CORR(age, salary), COVAR_POP(age, salary) FROM patients;
SELECT DIV0(SUM(amount), COUNT(DISTINCT patient_id)) AS per_patient FROM claims;
SELECT WIDTH_BUCKET(salary, 0, 300000, 10) AS b, COUNT(*) FROM patients GROUP BY b;
SELECT TO_CHAR(filed, 'YYYY-MM') AS m, COUNT(*) FROM claims GROUP BY m ORDER BY m;
SELECT HOUR(filed) AS h, COUNT(*) FROM claims GROUP BY h;
-- over statistics
SELECT state, COUNT(*) AS n, RATIO_TO_REPORT(COUNT(*)) OVER () AS share FROM patients GROUP BY state;
-- over statistics
WITH m AS (SELECT DATE_TRUNC('month', filed) AS m, SUM(amount) AS total FROM claims GROUP BY 1) SELECT m, total, LAG(total) OVER (ORDER BY m) AS before, total - before AS more FROM m ORDER BY m;
-- over statistics
SELECT s.region, s.population, t.n / s.population AS rate FROM (SELECT state, COUNT(*) AS n FROM patients GROUP BY state) AS t JOIN states AS s ON t.state = s.abbr;
-- unanswerable: individuals
SELECT patient_id, SUM(amount) FROM claims GROUP BY patient_id;
-- unanswerable: rows
SELECT DISTINCT patient_id FROM claims;
SELECT gender, COUNT(*) AS n, DP_INTERVAL_LOW(n), DP_INTERVAL_HIGH(n) FROM patients GROUP BY gender;
SELECT TO_DATE(filed) AS d, COUNT(*) FROM claims WHERE filed >= '2022-01-01' AND filed < '2022-02-01' GROUP BY d;
SELECT DATE_PART(month, filed) AS m, SUM(amount) FROM claims GROUP BY m;
SELECT state, COUNT(*) FROM patients WHERE age::STRING = '30' GROUP BY state;
SELECT AVG(CASE WHEN smoker THEN 1 ELSE 0 END) AS rate, COUNT(*) FROM patients GROUP BY state;
SELECT COUNT(DISTINCT p.patient_id) FROM patients AS p LEFT JOIN claims AS c ON p.patient_id = c.patient_id WHERE c.code = 'A1';
SELECT TRUNC(age, -1) AS decade, COUNT(*) FROM patients GROUP BY decade;
SELECT NVL(gender, 'unknown') AS g, AVG(salary) FROM patients GROUP BY g;
SELECT FLOOR(salary / 10000) * 10000 AS band, COUNT(*) FROM patients WHERE salary < 100000 GROUP BY band ORDER BY band;
-- over statistics
SELECT state, AVG(salary) AS m FROM patients GROUP BY state QUALIFY ROW_NUMBER() OVER (ORDER BY m DESC) = 1;
SELECT EQUAL_NULL(gender, 'F') AS f, COUNT(*) FROM patients GROUP BY f;
SELECT DAYNAME(filed) AS d, COUNT(*) FROM claims GROUP BY d;
-- unanswerable: chance
SELECT COUNT(*) FROM patients SAMPLE (10);
SELECT CASE WHEN CONTAINS(code, 'A') THEN 'a' ELSE 'other' END AS k, SUM(amount) FROM claims GROUP BY k;
SELECT LEFT(code, 1) AS chapter, COUNT(*) AS n FROM claims GROUP BY chapter;
SELECT state, SUM(IFF(gender = 'F', 1, 0)) AS f, SUM(IFF(gender = 'M', 1, 0)) AS m FROM patients GROUP BY state;
-- over statistics
SELECT YEAR(diagnosed) AS y, COUNT(*) AS n, SUM(COUNT(*)) OVER (ORDER BY y ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM patients GROUP BY y ORDER BY y;
-- over statistics
SELECT * FROM (SELECT state, gender FROM patients) PIVOT (COUNT(gender) FOR state IN ('CA', 'NY'));
