CREATE TABLE professors (id BIGINT, item VARCHAR, quantity INTEGER);
INSERT INTO professors VALUES (101, 'pencil', 24), (123, 'pen', 16), (123, 'pencil', 10), (129, 'pencil', 8);
CREATE TABLE students (id BIGINT, item VARCHAR, quantity INTEGER, bought TIMESTAMP, test_score DOUBLE, gender VARCHAR, passed BOOLEAN);
INSERT INTO students VALUES (1, 'pen', 3, TIMESTAMP '2024-02-03 09:15:00', 7.5, 'F', TRUE), (2, 'pencil', 1, TIMESTAMP '2024-03-09 17:00:00', 4.1, 'M', FALSE);
CREATE TABLE items (item VARCHAR, price DOUBLE, shelf INTEGER);
INSERT INTO items VALUES ('pen', 1.2, 4), ('pencil', 0.4, 9);

SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=10, delta=.01, privacy_unit_column=id) item, AVG(quantity, contribution_bounds_per_group => (0, 100)) average_quantity FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=10, delta=.01, max_groups_contributed=2, privacy_unit_column=id) item, SUM(quantity, contribution_bounds_per_group => (0, 100)) AS quantity FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, COUNT(*, contribution_bounds_per_group => (0, 100)) times_requested FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, COUNT(item, contribution_bounds_per_group => (0, 100)) times_requested FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id, max_groups_contributed=1) item, APPROX_QUANTILES(quantity, 2, contribution_bounds_per_row => (0, 50))[OFFSET(1)] AS median FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, PERCENTILE_CONT(quantity, 0.5, contribution_bounds_per_row => (0, 100)) AS median FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, VAR_POP(quantity, contribution_bounds_per_row => (0, 100)) AS spread FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, STDDEV_POP(quantity) FROM professors GROUP BY item;
-- unanswerable: an epsilon that is none
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1e20, delta=.01, privacy_unit_column=id, group_selection_strategy=PUBLIC_GROUPS) item, AVG(quantity) AS average_quantity FROM professors RIGHT OUTER JOIN (SELECT DISTINCT item FROM items) USING (item) GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=.01, privacy_unit_column=id, group_selection_strategy=PUBLIC_GROUPS) i.item, COUNT(p.quantity) AS n FROM professors AS p RIGHT OUTER JOIN items AS i ON p.item = i.item GROUP BY i.item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=students.id) COUNT(DISTINCT id) FROM students;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1.1e0, delta=1e-5, privacy_unit_column=id) gender, COUNT(*) total, COUNTIF(test_score > 5) AS good FROM students GROUP BY ALL;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) EXTRACT(DAYOFWEEK FROM bought) AS day_of_week, COUNT(*) FROM students GROUP BY day_of_week ORDER BY day_of_week;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) TIMESTAMP_TRUNC(bought, HOUR) AS h, COUNT(*) FROM students WHERE bought BETWEEN TIMESTAMP '2024-01-01' AND TIMESTAMP '2024-01-07' GROUP BY h;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) FORMAT_TIMESTAMP('%Y-%m', bought) AS m, COUNT(*) FROM students GROUP BY m;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) SAFE_DIVIDE(COUNTIF(passed), COUNT(*)) AS rate FROM students;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) gender, IF(AVG(test_score) > 5, 'good', 'bad') AS grade FROM students GROUP BY gender;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) CASE WHEN test_score < 4 THEN 'low' WHEN test_score < 7 THEN 'middle' ELSE 'high' END AS band, COUNT(DISTINCT id) AS n FROM students GROUP BY band HAVING n > 5 ORDER BY n DESC LIMIT 3;
WITH scores AS (SELECT id, AVG(test_score) AS mean FROM students GROUP BY id) SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) RANGE_BUCKET(mean, [2, 4, 6, 8]) AS b, COUNT(*) FROM scores GROUP BY b;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) DATE_DIFF(DATE '2025-01-01', DATE(bought), DAY) AS ago, COUNT(*) FROM students WHERE bought >= '2024-12-01' AND bought < '2025-01-01' GROUP BY 1;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) s.gender, AVG(i.price * s.quantity) AS paid FROM students AS s JOIN items AS i USING (item) WHERE i.price < 5 GROUP BY s.gender;
-- over statistics
SELECT item, quantity FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, SUM(quantity, contribution_bounds_per_group => (0, 100)) AS quantity FROM professors GROUP BY item) WHERE quantity > 0 ORDER BY quantity DESC;
-- over statistics
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place FROM students GROUP BY item QUALIFY place <= 3;
-- unanswerable: rows
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, quantity FROM professors;
-- unanswerable: one person decides
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) LOGICAL_OR(passed) FROM students;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, SUM(quantity) AS q, SUM(quantity) / COUNT(*) AS mean FROM professors GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) DATE_TRUNC(DATE(bought), MONTH) AS m, COUNT(*) FROM students GROUP BY m ORDER BY m;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) EXTRACT(DATE FROM bought) AS d, COUNT(*) FROM students WHERE bought >= TIMESTAMP '2024-03-01' AND bought < TIMESTAMP '2024-03-08' GROUP BY d;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) s.item, COUNT(*) FROM `project.dataset.students` AS s GROUP BY s.item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) ROUND(AVG(test_score), 2) AS m, STDDEV_SAMP(test_score) AS sd FROM students;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) COUNTIF(item LIKE 'pen%') AS pens, COUNT(*) AS n FROM students;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) REGEXP_CONTAINS(item, r'^p') AS p, COUNT(*) FROM students GROUP BY p;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) COUNT(DISTINCT item) AS items FROM students;
-- over statistics
SELECT item, n / SUM(n) OVER () AS share FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) item, COUNT(*) AS n FROM students GROUP BY item);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) SUM(IF(passed, 1, 0)) AS ok, AVG(CAST(passed AS INT64)) AS rate FROM students;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) TIMESTAMP_DIFF(TIMESTAMP '2024-12-31', bought, DAY) AS d, COUNT(*) FROM students WHERE bought > '2024-12-01' AND bought < '2024-12-31' GROUP BY d;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) gender, COUNT(*) AS n FROM students GROUP BY ROLLUP(gender);
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=id) gender, item, COUNT(*) AS n FROM students GROUP BY gender, item HAVING COUNT(*) > 3 ORDER BY n DESC LIMIT 5;
