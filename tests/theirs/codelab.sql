CREATE TABLE visits (visitor BIGINT, entered TIMESTAMP, minutes INTEGER, money DOUBLE, day INTEGER, item VARCHAR);
INSERT INTO visits VALUES (1, TIMESTAMP '2020-01-01 09:30:00', 34, 19.5, 1, 'tea'), (1, TIMESTAMP '2020-01-02 12:10:00', 60, 25, 2, 'pie'), (2, TIMESTAMP '2020-01-01 12:30:00', 12, 5.25, 1, 'tea');

SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) day, COUNT(*) AS n FROM main.visits GROUP BY day;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = .00001, max_groups_contributed = 3, privacy_unit_column = visitor) EXTRACT(HOUR FROM entered) AS hour, COUNT(*, contribution_bounds_per_group => (0, 3)) AS visits FROM visits GROUP BY hour;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) day, SUM(money, contribution_bounds_per_group => (0, 50)) FROM visits GROUP BY day;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) day, AVG(money, contribution_bounds_per_group => (0, 65)) FROM visits GROUP BY day;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) AVG(minutes, contribution_bounds_per_group => (10, 120)) AS m FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) SUM(minutes, contribution_bounds_per_group => (10, 120)) AS m FROM visits;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, max_groups_contributed=NULL, privacy_unit_column=visitor) item, COUNT(*) FROM visits GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, min_privacy_units_per_group=2, privacy_unit_column=visitor) item, COUNT(DISTINCT visitor) FROM visits GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, max_rows_contributed=5, privacy_unit_column=visitor) item, SUM(money, contribution_bounds_per_row => (0, 30)) FROM visits GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, group_selection_epsilon=0.2, privacy_unit_column=visitor) item, COUNT(*) FROM visits GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, group_selection_strategy=LAPLACE_THRESHOLD, privacy_unit_column=visitor) item, AVG(money) FROM visits GROUP BY item;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, group_selection_strategy=PUBLIC_GROUPS, privacy_unit_column=visitor) d, COUNT(visitor) FROM UNNEST([1, 2, 3]) AS d LEFT JOIN visits ON d = visits.day GROUP BY d;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) PERCENTILE_CONT(minutes, 0.5, contribution_bounds_per_row => (0, 100)) AS median FROM visits;
-- over statistics
SELECT day, n FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) day, COUNT(*) AS n FROM visits GROUP BY day);
-- over statistics
WITH a AS (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) item, SUM(money) AS s FROM visits GROUP BY item) SELECT item, s FROM a ORDER BY s DESC LIMIT 2;
-- unanswerable: individuals
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-5, privacy_unit_column=visitor) visitor, COUNT(*) FROM visits GROUP BY visitor;
