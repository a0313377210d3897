import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

@ExtendWith(Wherry.class)
class WherryTest {
  private static final String CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
  private static final String JOBS = "/apis/batch/v1/namespaces/default/jobs";

  @RepeatedTest(2)
  void everyTestHasAFreshCluster(Wherry.Cluster cluster) {
    cluster.create(CONFIG_MAPS, "{\"metadata\":{\"name\":\"same\"}}");
    String requests = cluster.requests(Map.of("verb", "create", "kind", "ConfigMap"));
    assertTrue(requests.contains("\"create\""), requests);
  }

  @Test
  void deploymentsBecomeReady(Wherry.Cluster cluster) {
    cluster.create(
        "/apis/apps/v1/namespaces/default/deployments",
        "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"replicas\":3,"
            + "\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
            + "\"template\":{\"metadata\":{\"labels\":{\"app\":\"web\"}},"
            + "\"spec\":{\"containers\":[{\"name\":\"web\",\"image\":\"nginx\"}]}}}}");
    cluster.settled();
    String web = cluster.get("/apis/apps/v1/namespaces/default/deployments/web");
    assertTrue(web.contains("\"readyReplicas\":3"), web);
  }

  @Test
  void timePassesWhenItIsToldTo(Wherry.Cluster cluster) {
    cluster.create(
        JOBS,
        "{\"metadata\":{\"name\":\"short\"},\"spec\":{\"ttlSecondsAfterFinished\":3600,\"template\":{\"spec\":"
            + "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"work\",\"image\":\"work\"}]}}}}");
    cluster.settled();
    assertTrue(cluster.get(JOBS).contains("\"short\""));
    cluster.advance(Duration.ofHours(2));
    assertFalse(cluster.get(JOBS).contains("\"short\""));
  }

  @Test
  void requestsFailAsAsked(Wherry.Cluster cluster) {
    cluster.fail("{\"verb\":\"create\",\"kind\":\"ConfigMap\",\"status\":503,\"times\":1}");
    assertEquals(503, cluster.send("POST", CONFIG_MAPS, "{\"metadata\":{\"name\":\"first\"}}").statusCode());
    cluster.create(CONFIG_MAPS, "{\"metadata\":{\"name\":\"second\"}}");
  }
}
