CREATE TABLE customer (c_customer_sk BIGINT, c_birth_year INTEGER, c_birth_country VARCHAR, c_preferred_cust_flag VARCHAR, c_current_addr_sk INTEGER);
INSERT INTO customer VALUES (1, 1970, 'PERU', 'Y', 1), (2, 1985, 'CHAD', 'N', 2);
CREATE TABLE store_sales (ss_customer_sk BIGINT, ss_sold_date_sk INTEGER, ss_item_sk INTEGER, ss_store_sk INTEGER, ss_quantity INTEGER, ss_sales_price DOUBLE, ss_ext_sales_price DOUBLE, ss_net_profit DOUBLE);
INSERT INTO store_sales VALUES (1, 10, 1, 1, 3, 10.0, 30.0, 5.5), (2, 11, 2, 2, 1, 99.5, 99.5, -3.0);
CREATE TABLE web_sales (ws_bill_customer_sk BIGINT, ws_sold_date_sk INTEGER, ws_item_sk INTEGER, ws_ext_sales_price DOUBLE);
INSERT INTO web_sales VALUES (1, 11, 2, 40.0), (2, 10, 1, 12.0);
CREATE TABLE date_dim (d_date_sk INTEGER, d_date DATE, d_year INTEGER, d_moy INTEGER, d_day_name VARCHAR, d_week_seq INTEGER);
INSERT INTO date_dim VALUES (10, DATE '2000-11-05', 2000, 11, 'Sunday', 5), (11, DATE '2001-11-09', 2001, 11, 'Friday', 58);
CREATE TABLE item (i_item_sk INTEGER, i_item_id VARCHAR, i_brand VARCHAR, i_brand_id INTEGER, i_category VARCHAR, i_class VARCHAR, i_current_price DOUBLE, i_manufact_id INTEGER, i_manager_id INTEGER);
INSERT INTO item VALUES (1, 'AAA', 'amalg', 7, 'Books', 'fiction', 2.5, 128, 1), (2, 'AAB', 'edu pack', 8, 'Music', 'pop', 9.0, 436, 28);
CREATE TABLE store (s_store_sk INTEGER, s_store_name VARCHAR, s_state VARCHAR, s_gmt_offset DOUBLE);
INSERT INTO store VALUES (1, 'able', 'TN', -5), (2, 'ation', 'SD', -6);
CREATE TABLE customer_address (ca_address_sk INTEGER, ca_state VARCHAR, ca_zip VARCHAR);
INSERT INTO customer_address VALUES (1, 'TN', '35709'), (2, 'SD', '31904');

SELECT dt.d_year, item.i_brand_id AS brand_id, item.i_brand AS brand, SUM(ss_ext_sales_price) AS sum_agg FROM date_dim AS dt, store_sales, item WHERE dt.d_date_sk = store_sales.ss_sold_date_sk AND store_sales.ss_item_sk = item.i_item_sk AND item.i_manufact_id = 128 AND dt.d_moy = 11 GROUP BY dt.d_year, item.i_brand, item.i_brand_id ORDER BY dt.d_year, sum_agg DESC, brand_id LIMIT 100;
SELECT dt.d_year, item.i_category, SUM(ss_ext_sales_price) FROM date_dim dt, store_sales, item WHERE dt.d_date_sk = store_sales.ss_sold_date_sk AND store_sales.ss_item_sk = item.i_item_sk AND item.i_manager_id = 1 AND dt.d_moy = 11 AND dt.d_year = 2000 GROUP BY dt.d_year, item.i_category ORDER BY SUM(ss_ext_sales_price) DESC, dt.d_year LIMIT 100;
SELECT s_store_name, SUM(CASE WHEN (d_day_name = 'Sunday') THEN ss_sales_price ELSE NULL END) sun_sales, SUM(CASE WHEN (d_day_name = 'Friday') THEN ss_sales_price ELSE NULL END) fri_sales FROM date_dim, store_sales, store WHERE d_date_sk = ss_sold_date_sk AND s_store_sk = ss_store_sk AND s_gmt_offset = -5 AND d_year = 2000 GROUP BY s_store_name ORDER BY s_store_name LIMIT 100;
SELECT i_item_id, AVG(ss_quantity) agg1, AVG(ss_sales_price) agg4 FROM store_sales, customer, date_dim, item WHERE ss_sold_date_sk = d_date_sk AND ss_item_sk = i_item_sk AND ss_customer_sk = c_customer_sk AND c_preferred_cust_flag = 'Y' AND d_year = 2000 GROUP BY i_item_id ORDER BY i_item_id LIMIT 100;
SELECT a.ca_state AS state, COUNT(*) AS cnt FROM customer_address a, customer c, store_sales s, date_dim d, item i WHERE a.ca_address_sk = c.c_current_addr_sk AND c.c_customer_sk = s.ss_customer_sk AND s.ss_sold_date_sk = d.d_date_sk AND s.ss_item_sk = i.i_item_sk AND d.d_year = 2000 AND i.i_current_price > 1.2 * (SELECT AVG(j.i_current_price) FROM item j WHERE j.i_category = i.i_category) GROUP BY a.ca_state HAVING COUNT(*) >= 10 ORDER BY cnt LIMIT 100;
SELECT SUM(ss_quantity) FROM store_sales, store WHERE s_store_sk = ss_store_sk AND ((ss_sales_price BETWEEN 100.00 AND 150.00 AND ss_quantity BETWEEN 1 AND 20) OR (ss_sales_price BETWEEN 50.00 AND 100.00));
SELECT CASE WHEN (SELECT COUNT(*) FROM item WHERE i_current_price BETWEEN 1 AND 3) > 1 THEN AVG(ss_net_profit) ELSE AVG(ss_ext_sales_price) END AS bucket1 FROM store_sales;
SELECT COUNT(*) FROM customer c WHERE EXISTS (SELECT * FROM store_sales, date_dim WHERE c.c_customer_sk = ss_customer_sk AND ss_sold_date_sk = d_date_sk AND d_year = 2000) AND NOT EXISTS (SELECT * FROM web_sales, date_dim WHERE c.c_customer_sk = ws_bill_customer_sk AND ws_sold_date_sk = d_date_sk AND d_year = 2000);
SELECT ca_state, c_preferred_cust_flag, COUNT(*) cnt1, MIN(c_birth_year), MAX(c_birth_year), AVG(c_birth_year) FROM customer c, customer_address ca WHERE c.c_current_addr_sk = ca.ca_address_sk AND EXISTS (SELECT * FROM store_sales WHERE c.c_customer_sk = ss_customer_sk) GROUP BY ca_state, c_preferred_cust_flag ORDER BY ca_state LIMIT 100;
SELECT i_category, i_class, SUM(ss_net_profit) / SUM(ss_ext_sales_price) AS gross_margin, GROUPING(i_category) + GROUPING(i_class) AS lochierarchy FROM store_sales, item WHERE i_item_sk = ss_item_sk GROUP BY ROLLUP (i_category, i_class) ORDER BY lochierarchy DESC, i_category;
SELECT SUBSTR(ca_zip, 1, 2), SUM(ss_net_profit) FROM store_sales JOIN customer ON ss_customer_sk = c_customer_sk JOIN customer_address ON ca_address_sk = c_current_addr_sk WHERE SUBSTR(ca_zip, 1, 5) IN ('35709', '31904') GROUP BY 1;
SELECT d_year, COUNT(DISTINCT ss_customer_sk) FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk WHERE d_date BETWEEN CAST('2000-01-01' AS date) AND (CAST('2000-01-01' AS date) + INTERVAL 90 DAYS) GROUP BY d_year;
SELECT channel, SUM(sales) FROM (SELECT 'store' AS channel, ss_customer_sk AS c, ss_ext_sales_price AS sales FROM store_sales UNION ALL SELECT 'web', ws_bill_customer_sk, ws_ext_sales_price FROM web_sales) AS x GROUP BY channel;
SELECT channel, col_name, d_year, COUNT(*) sales_cnt, SUM(ext_sales_price) sales_amt FROM (SELECT 'store' AS channel, 'ss_store_sk' AS col_name, d_year, ss_customer_sk, ss_ext_sales_price AS ext_sales_price FROM store_sales, date_dim WHERE ss_store_sk IS NULL AND ss_sold_date_sk = d_date_sk UNION ALL SELECT 'web', 'ws_item_sk', d_year, ws_bill_customer_sk, ws_ext_sales_price FROM web_sales, date_dim WHERE ws_sold_date_sk = d_date_sk) foo GROUP BY channel, col_name, d_year ORDER BY channel LIMIT 100;
SELECT COUNT(*) FROM (SELECT DISTINCT ss_customer_sk FROM store_sales INTERSECT SELECT DISTINCT ws_bill_customer_sk FROM web_sales) AS hot_cust;
SELECT COUNT(*) FROM ((SELECT DISTINCT ss_customer_sk FROM store_sales) EXCEPT (SELECT DISTINCT ws_bill_customer_sk FROM web_sales)) AS cool_cust;
-- over statistics
SELECT i_category, i_class, SUM(ss_ext_sales_price) AS itemrevenue, SUM(ss_ext_sales_price) * 100 / SUM(SUM(ss_ext_sales_price)) OVER (PARTITION BY i_category) AS revenueratio FROM store_sales, item, date_dim WHERE ss_item_sk = i_item_sk AND i_category IN ('Books', 'Music') AND ss_sold_date_sk = d_date_sk GROUP BY i_category, i_class ORDER BY i_category, revenueratio;
-- over statistics
SELECT * FROM (SELECT i_category, s_store_name, d_moy, SUM(ss_sales_price) sum_sales, AVG(SUM(ss_sales_price)) OVER (PARTITION BY i_category, s_store_name) avg_monthly_sales FROM item, store_sales, date_dim, store WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND ss_store_sk = s_store_sk AND d_year IN (2000) GROUP BY i_category, s_store_name, d_moy) tmp1 WHERE CASE WHEN (avg_monthly_sales <> 0) THEN (ABS(sum_sales - avg_monthly_sales) / avg_monthly_sales) ELSE NULL END > 0.1 ORDER BY sum_sales - avg_monthly_sales, s_store_name LIMIT 100;
-- over statistics
WITH wss AS (SELECT d_week_seq, ss_store_sk, SUM(ss_sales_price) AS sales FROM store_sales, date_dim WHERE d_date_sk = ss_sold_date_sk GROUP BY d_week_seq, ss_store_sk) SELECT s_store_name, y.d_week_seq, y.sales / x.sales AS ratio FROM wss y, wss x, store WHERE y.ss_store_sk = s_store_sk AND x.ss_store_sk = y.ss_store_sk AND x.d_week_seq = y.d_week_seq + 53;
-- over statistics
SELECT promotions, total, CAST(promotions AS DECIMAL(15, 4)) / CAST(total AS DECIMAL(15, 4)) * 100 FROM (SELECT SUM(ss_ext_sales_price) promotions FROM store_sales, item WHERE ss_item_sk = i_item_sk AND i_category = 'Books') promotional_sales, (SELECT SUM(ss_ext_sales_price) total FROM store_sales) all_sales;
-- over statistics
SELECT ca_state, d_year, SUM(ss_ext_sales_price) AS total, RANK() OVER (PARTITION BY GROUPING(ca_state) ORDER BY SUM(ss_ext_sales_price) DESC) AS rank_within FROM store_sales, customer, customer_address, date_dim WHERE ss_customer_sk = c_customer_sk AND c_current_addr_sk = ca_address_sk AND ss_sold_date_sk = d_date_sk GROUP BY ca_state, d_year;
-- over statistics
SELECT asceding.rnk, i1.i_item_id FROM (SELECT * FROM (SELECT item_sk, RANK() OVER (ORDER BY rank_col) rnk FROM (SELECT ss_item_sk item_sk, AVG(ss_net_profit) rank_col FROM store_sales GROUP BY ss_item_sk) v1) v11 WHERE rnk < 11) asceding, item i1 WHERE i1.i_item_sk = asceding.item_sk ORDER BY asceding.rnk;
-- unanswerable: individuals
SELECT c_customer_sk, SUM(ss_net_profit) FROM store_sales, customer WHERE ss_customer_sk = c_customer_sk GROUP BY c_customer_sk ORDER BY 2 DESC LIMIT 100;
