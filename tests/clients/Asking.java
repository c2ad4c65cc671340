import java.sql.*;
import java.util.*;

/** Asks San with the driver of PostgreSQL and prints what was seen as one line of JSON. */
public class Asking {
  static final String BY_SEX =
      "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people WHERE age > ? GROUP BY sex";

  public static void main(String[] given) throws Exception {
    try (Connection ana = DriverManager.getConnection(given[0], "ana", given[1])) {
      try (Statement set = ana.createStatement()) {
        set.execute("SET sanql.epsilon = 0.01");
      }
      List<String> first = rows(ana, 49, 0), again = first;
      for (int time = 0; time < 7; time++) { // from the fifth on it is prepared by name, and binary
        again = rows(ana, 49, 0);
      }
      ana.setAutoCommit(false);
      int paged = rows(ana, 49, 2).size();
      ana.commit();
      ana.setAutoCommit(true);
      List<String> tables = new ArrayList<>();
      try (ResultSet found =
          ana.getMetaData().getTables(null, "public", "%", new String[] {"TABLE"})) {
        while (found.next()) tables.add("\"" + found.getString("TABLE_NAME") + "\"");
      }
      String state = "";
      try (Statement refused = ana.createStatement()) {
        refused.executeQuery("SELECT income FROM people");
      } catch (SQLException told) {
        state = told.getSQLState();
      }
      System.out.printf(
          "{\"rows\": %d, \"again\": %b, \"paged\": %d, \"tables\": %s, \"state\": \"%s\","
              + " \"version\": \"%s\"}%n",
          first.size(), first.equals(again), paged, tables, state,
          ana.getMetaData().getDriverVersion());
    }
  }

  static List<String> rows(Connection ana, int age, int pageSize) throws SQLException {
    List<String> found = new ArrayList<>();
    try (PreparedStatement asked = ana.prepareStatement(BY_SEX)) {
      asked.setInt(1, age);
      asked.setFetchSize(pageSize);
      try (ResultSet rows = asked.executeQuery()) {
        while (rows.next()) {
          found.add(rows.getString(1) + " " + rows.getLong(2) + " " + rows.getDouble(3));
        }
      }
    }
    return found;
  }
}
