CREATE TABLE people (id BIGINT, source VARCHAR, state VARCHAR, birth_date DATE, created_at TIMESTAMP);
INSERT INTO people VALUES (1, 'Google', 'CA', DATE '1980-05-06', TIMESTAMP '2023-01-02 10:00:00'), (2, 'Organic', 'NY', DATE '1999-01-01', TIMESTAMP '2024-05-05 12:00:00');
CREATE TABLE orders (id BIGINT, user_id BIGINT, product_id INTEGER, subtotal DOUBLE, total DOUBLE, discount DOUBLE, quantity INTEGER, created_at TIMESTAMP);
INSERT INTO orders VALUES (1, 1, 1, 30.0, 33.0, NULL, 2, TIMESTAMP '2024-03-03 09:00:00'), (2, 2, 2, 80.0, 88.5, 5.0, 1, TIMESTAMP '2025-01-07 18:00:00');
CREATE TABLE products (id INTEGER, title VARCHAR, category VARCHAR, vendor VARCHAR, price DOUBLE, rating DOUBLE);
INSERT INTO products VALUES (1, 'Rustic Hat', 'Gizmo', 'Acme', 15.5, 4.1), (2, 'Small Lamp', 'Widget', 'Nolan', 80.25, 3.2);

SELECT DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at", COUNT(*) AS "count" FROM "public"."orders" GROUP BY DATE_TRUNC('month', "public"."orders"."created_at") ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC;
SELECT CAST(DATE_TRUNC('day', "orders"."created_at") AS date) AS "created_at", SUM("orders"."total") AS "sum" FROM "orders" WHERE "orders"."created_at" >= TIMESTAMP '2025-01-01 00:00:00.000' AND "orders"."created_at" < TIMESTAMP '2025-02-01 00:00:00.000' GROUP BY CAST(DATE_TRUNC('day', "orders"."created_at") AS date) ORDER BY 1 ASC;
SELECT "Products"."category" AS "Products__category", AVG("public"."orders"."subtotal") AS "avg" FROM "public"."orders" LEFT JOIN "public"."products" AS "Products" ON "public"."orders"."product_id" = "Products"."id" GROUP BY "Products"."category" ORDER BY "avg" DESC, "Products"."category" ASC;
SELECT FLOOR((("public"."orders"."total" - 0.0) / 25.0)) * 25.0 + 0.0 AS "total", COUNT(*) AS "count" FROM "public"."orders" GROUP BY FLOOR((("public"."orders"."total" - 0.0) / 25.0)) * 25.0 + 0.0 ORDER BY 1 ASC;
SELECT "source"."category" AS "category", COUNT(*) AS "count" FROM (SELECT "public"."orders"."id" AS "id", "public"."orders"."user_id" AS "user_id", "Products"."category" AS "category" FROM "public"."orders" INNER JOIN "public"."products" AS "Products" ON "public"."orders"."product_id" = "Products"."id") AS "source" WHERE ("source"."category" <> 'Doohickey' OR "source"."category" IS NULL) GROUP BY "source"."category";
SELECT CAST(EXTRACT(dow FROM "orders"."created_at") AS integer) + 1 AS "day_of_week", COUNT(*) AS "count" FROM "orders" GROUP BY CAST(EXTRACT(dow FROM "orders"."created_at") AS integer) + 1 ORDER BY 1;
SELECT COUNT(*) AS "count", SUM(CASE WHEN "orders"."discount" > 0 THEN 1 ELSE 0.0 END) / CAST(COUNT(*) AS DOUBLE PRECISION) AS "share" FROM "orders";
SELECT COUNT(DISTINCT "public"."orders"."user_id") AS "buyers", SUM("public"."orders"."total") / NULLIF(COUNT(DISTINCT "public"."orders"."user_id"), 0) AS "each" FROM "public"."orders";
SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY "orders"."total") AS "p90" FROM "orders";
SELECT "people"."source" AS "source", COUNT(*) AS "count" FROM "people" WHERE (LOWER("people"."state") LIKE '%c%') GROUP BY "people"."source" ORDER BY "count" DESC, "people"."source" ASC;
SELECT "people"."source" AS "source", "people"."state" AS "state", COUNT(*) AS "count" FROM "people" WHERE "people"."state" IS NOT NULL AND ("people"."state" <> '' OR "people"."state" IS NULL) GROUP BY "people"."source", "people"."state" LIMIT 1000;
SELECT source AS source, count(*) AS "COUNT(*)" FROM main.people WHERE created_at >= CAST('2024-01-01 00:00:00.000000' AS TIMESTAMP) AND created_at < CAST('2025-01-01 00:00:00.000000' AS TIMESTAMP) GROUP BY source ORDER BY "COUNT(*)" DESC LIMIT 1000;
SELECT DATE_TRUNC('week', created_at) AS __timestamp, source AS source, COUNT(DISTINCT id) AS "COUNT_DISTINCT(id)" FROM people JOIN (SELECT source AS source__, count(*) AS mme_inner__ FROM people GROUP BY source ORDER BY mme_inner__ DESC LIMIT 3) AS series_limit ON source = source__ GROUP BY DATE_TRUNC('week', created_at), source ORDER BY "COUNT_DISTINCT(id)" DESC LIMIT 50000;
SELECT AVG(total) AS "AVG(total)", MAX(total) AS "MAX(total)", MIN(total) AS "MIN(total)" FROM (SELECT * FROM orders WHERE quantity > 1) AS virtual_table LIMIT 50000;
SELECT sum("total") AS "SUM(total)" FROM "main"."orders" WHERE ("quantity" >= 2) AND ("product_id" IN (1, 2)) OR ("total" IS NULL);
SELECT "orders"."product_id" AS "product_id", SUM("orders"."quantity") AS "sum:quantity:ok" FROM "public"."orders" "orders" INNER JOIN "public"."products" "products" ON ("orders"."product_id" = "products"."id") WHERE ("products"."category" = 'Gizmo') GROUP BY 1;
SELECT (CASE WHEN ("people"."source" IN ('Google', 'Facebook')) THEN 'Paid' ELSE "people"."source" END) AS "source (group)", COUNT(DISTINCT "people"."id") AS "ctd:id:ok" FROM "public"."people" "people" GROUP BY 1;
SELECT SUM(1) AS "cnt:orders:ok", DATE_TRUNC('YEAR', CAST("orders"."created_at" AS DATE)) AS "tyr:created_at:ok" FROM "public"."orders" "orders" GROUP BY 2;
SELECT EXTRACT(YEAR FROM "orders"."created_at") AS "yr:created_at:ok", SUM("orders"."total") AS "sum:total:ok" FROM "public"."orders" "orders" GROUP BY 1 HAVING (COUNT(1) > 0);
SELECT "t0"."x_measure" AS "m", COUNT(1) FROM (SELECT "user_id" AS "user_id", SUM("quantity") AS "x_measure" FROM "orders" GROUP BY 1) "t0" GROUP BY 1;
SELECT TO_CHAR(DATE_TRUNC('month', orders.created_at), 'YYYY-MM') AS "orders.created_month", COALESCE(SUM(orders.total), 0) AS "orders.total_sum" FROM orders AS orders GROUP BY 1 ORDER BY 1 DESC FETCH NEXT 500 ROWS ONLY;
SELECT products.category AS "products.category", COUNT(DISTINCT orders.user_id) AS "users", COUNT(*) AS "orders.count" FROM orders LEFT JOIN products ON orders.product_id = products.id WHERE ((orders.created_at) >= ((DATE '2024-01-01')) AND (orders.created_at) < ((DATE '2024-01-01' + INTERVAL '1 year'))) GROUP BY 1 ORDER BY 2 DESC LIMIT 500;
SELECT DATE_PART('year', DATE '2025-01-01') - DATE_PART('year', birth_date) AS age, COUNT(*) FROM people GROUP BY 1;
SELECT date_trunc('month', p.created_at) AS cohort, DATE_DIFF('month', p.created_at, o.created_at) AS later, COUNT(DISTINCT o.user_id) AS n FROM people p JOIN orders o ON o.user_id = p.id GROUP BY 1, 2 ORDER BY 1, 2;
WITH first_order AS (SELECT user_id, MIN(created_at) AS first_at FROM orders GROUP BY user_id) SELECT DATE_TRUNC('month', first_at) AS cohort, COUNT(*) FROM first_order GROUP BY 1;
SELECT "source"."Total bucket" AS "Total bucket", COUNT(*) FROM (SELECT user_id, CASE WHEN total < 50 THEN 'small' WHEN total < 100 THEN 'medium' ELSE 'large' END AS "Total bucket" FROM orders) AS "source" GROUP BY "source"."Total bucket";
-- over statistics
SELECT "source"."created_at", "source"."count", SUM("source"."count") OVER (ORDER BY "source"."created_at" ASC ROWS UNBOUNDED PRECEDING) AS "cumulative" FROM (SELECT DATE_TRUNC('month', "orders"."created_at") AS "created_at", COUNT(*) AS "count" FROM "orders" GROUP BY 1) AS "source" ORDER BY 1;
-- over statistics
SELECT SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('month', "public"."orders"."created_at") ASC ROWS UNBOUNDED PRECEDING) AS "count", DATE_TRUNC('month', "public"."orders"."created_at") AS "created_at" FROM "public"."orders" GROUP BY DATE_TRUNC('month', "public"."orders"."created_at");
-- over statistics
SELECT source, count, count * 100.0 / total AS pct FROM (SELECT source, COUNT(*) AS count FROM people GROUP BY source) a CROSS JOIN (SELECT COUNT(*) AS total FROM people) b;
-- over statistics
SELECT MAX("n") AS "max", MIN("n") AS "min", AVG("n") AS "avg" FROM (SELECT DATE_TRUNC('week', created_at) AS w, COUNT(*) AS "n" FROM orders GROUP BY 1) AS weeks;
-- over statistics
SELECT y.m, y.total, (y.total - x.total) / NULLIF(x.total, 0) AS growth FROM (SELECT DATE_TRUNC('month', created_at) AS m, SUM(total) AS total FROM orders GROUP BY 1) y LEFT JOIN (SELECT DATE_TRUNC('month', created_at) AS m, SUM(total) AS total FROM orders GROUP BY 1) x ON x.m = y.m - INTERVAL '1 year';
-- over statistics
SELECT COUNT(*) FROM (SELECT source FROM people GROUP BY source HAVING COUNT(*) > 1) AS big;
-- unanswerable: rows
SELECT "public"."orders"."id" AS "id", "public"."orders"."user_id" AS "user_id", "public"."orders"."total" AS "total" FROM "public"."orders" LIMIT 1048575;
-- unanswerable: rows
SELECT * FROM orders LIMIT 0;
-- unanswerable: individuals
SELECT user_id, SUM(total) AS spent FROM orders GROUP BY user_id ORDER BY spent DESC LIMIT 10;
SELECT date_trunc('month', created_at)::date AS month, count(distinct user_id) AS mau FROM orders GROUP BY 1 ORDER BY 1;
-- over statistics
WITH monthly AS (SELECT date_trunc('month', created_at) AS month, SUM(total) AS revenue FROM orders GROUP BY 1) SELECT month, revenue, AVG(revenue) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS moving FROM monthly ORDER BY month;
-- over statistics
SELECT p.category, SUM(o.total) AS revenue, RANK() OVER (ORDER BY SUM(o.total) DESC) AS rank FROM orders o JOIN products p ON p.id = o.product_id GROUP BY p.category;
SELECT EXTRACT(year FROM created_at) AS yr, EXTRACT(quarter FROM created_at) AS qtr, SUM(quantity) FROM orders GROUP BY yr, qtr ORDER BY yr, qtr;
SELECT COUNT(*) FILTER (WHERE created_at >= '2025-01-01') AS new, COUNT(*) FILTER (WHERE created_at < '2025-01-01') AS old FROM people;
-- over statistics
SELECT source, ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) || '%' AS pct FROM people GROUP BY source;
SELECT CASE WHEN n = 1 THEN 'once' WHEN n < 5 THEN 'some' ELSE 'many' END AS loyalty, COUNT(*) AS customers FROM (SELECT user_id, COUNT(*) AS n FROM orders GROUP BY user_id) t GROUP BY 1;
SELECT AVG(total) AS aov, PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY total) AS median FROM orders WHERE created_at >= DATE '2024-01-01';
SELECT p.vendor, SUM(o.quantity * p.price) AS gross FROM orders o JOIN products p ON o.product_id = p.id GROUP BY p.vendor ORDER BY gross DESC LIMIT 10;
-- over statistics
SELECT date_trunc('month', created_at) AS m, SUM(total) AS s, SUM(SUM(total)) OVER (ORDER BY date_trunc('month', created_at)) AS cumulative FROM orders GROUP BY 1;
SELECT COUNT(DISTINCT user_id) FILTER (WHERE total > 100) * 100.0 / COUNT(DISTINCT user_id) AS pct FROM orders;
SELECT source, state, COUNT(*) AS c FROM people WHERE state IN ('CA', 'NY') AND source != 'Google' GROUP BY CUBE(source, state);
SELECT to_char(created_at, 'YYYY-"W"IW') AS wk, COUNT(*) FROM orders GROUP BY wk;
SELECT date_trunc('hour', created_at) AS h, COUNT(*) FROM orders WHERE created_at > '2025-01-01' AND created_at < '2025-01-03' GROUP BY 1;
SELECT width_bucket(total, 0, 250, 5) AS b, MIN(total), MAX(total), COUNT(*) FROM orders GROUP BY b ORDER BY b;
SELECT CASE WHEN rating >= 4 THEN 'good' ELSE 'bad' END AS r, COUNT(*) FROM orders JOIN products ON products.id = orders.product_id GROUP BY r;
-- over statistics
SELECT d.day, COALESCE(t.n, 0) AS n FROM generate_series(DATE '2025-01-01', DATE '2025-01-07', INTERVAL '1 day') AS d(day) LEFT JOIN (SELECT created_at::date AS day, COUNT(*) AS n FROM orders WHERE created_at >= '2025-01-01' AND created_at < '2025-01-08' GROUP BY 1) t ON t.day = d.day;
-- unanswerable: an interval is no number
SELECT EXTRACT(epoch FROM AVG(created_at - TIMESTAMP '2020-01-01')) FROM orders;
SELECT date_part('hour', created_at) AS hour, count(*) FROM orders GROUP BY 1 ORDER BY 2 DESC;
