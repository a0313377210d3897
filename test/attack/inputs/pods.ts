/** Lists in pods. */
import { create, env, type ListInput, many, mounts, pod, record, volumes } from './shapes.ts';

export const pods: readonly ListInput[] = [
  create('tolerations', 4_000, (n) =>
    pod({ tolerations: many(n, (i) => ({ key: `k${i}`, operator: 'Exists' })) }),
  ),
  create('env', 7_500, (n) => pod({}, { env: env(n) })),
  create('env that refers to env', 4_000, (n) =>
    pod({}, { env: many(n, (i) => ({ name: `V${i}`, value: `$(V${i - 1})` })) }),
  ),
  create('envFrom', 4_000, (n) =>
    pod({}, { envFrom: many(n, (i) => ({ configMapRef: { name: `c${i}` } })) }),
  ),
  create('ports', 4_000, (n) =>
    pod({}, { ports: many(n, (i) => ({ containerPort: 1 + (i % 65_000), name: `p${i}` })) }),
  ),
  create('volumes', 4_000, (n) => pod({ volumes: volumes(n) })),
  create('volumes and mounts', 2_500, (n) => pod({ volumes: volumes(n) }, { volumeMounts: mounts(n) })),
  create('containers', 2_000, (n) => pod({ containers: many(n, (i) => ({ name: `c${i}`, image: 'i' })) })),
  create('init containers', 2_000, (n) =>
    pod({ initContainers: many(n, (i) => ({ name: `c${i}`, image: 'i' })) }),
  ),
  create('host aliases', 4_000, (n) =>
    pod({ hostAliases: many(n, (i) => ({ ip: `10.0.${(i >> 8) % 256}.${i % 256}`, hostnames: ['a'] })) }),
  ),
  create('image pull secrets', 5_000, (n) => pod({ imagePullSecrets: many(n, (i) => ({ name: `s${i}` })) })),
  create('spread constraints', 2_000, (n) =>
    pod({
      topologySpreadConstraints: many(n, (i) => ({
        maxSkew: 1,
        topologyKey: `k${i}`,
        whenUnsatisfiable: 'ScheduleAnyway',
      })),
    }),
  ),
  create('scheduling gates', 4_000, (n) =>
    pod({ schedulingGates: many(n, (i) => ({ name: `example.com/g${i}` })) }),
  ),
  create('node selector terms', 2_000, (n) =>
    pod({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: many(n, (i) => ({ matchExpressions: [{ key: `k${i}`, operator: 'Exists' }] })),
          },
        },
      },
    }),
  ),
  create('affinity terms', 1_500, (n) =>
    pod({
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: many(n, (i) => ({
            topologyKey: `k${i}`,
            labelSelector: {},
          })),
        },
      },
    }),
  ),
  create('readiness gates', 4_000, (n) =>
    pod({ readinessGates: many(n, (i) => ({ conditionType: `g${i}` })) }),
  ),
  create('resource requests', 4_000, (n) =>
    pod(
      {},
      {
        resources: {
          requests: record(
            n,
            (i) => `example.com/r${i}`,
            () => '1',
          ),
          limits: record(
            n,
            (i) => `example.com/r${i}`,
            () => '1',
          ),
        },
      },
    ),
  ),
  create('projected sources', 2_000, (n) =>
    pod({
      volumes: [
        {
          name: 'v',
          projected: {
            sources: many(n, (i) => ({ configMap: { name: `c${i}`, items: [{ key: 'k', path: `p${i}` }] } })),
          },
        },
      ],
    }),
  ),
  create('items of a volume', 4_000, (n) =>
    pod({
      volumes: [
        { name: 'v', configMap: { name: 'c', items: many(n, (i) => ({ key: `k${i}`, path: `p${i}` })) } },
      ],
    }),
  ),
  create('sysctls', 4_000, (n) =>
    pod({
      securityContext: { sysctls: many(n, (i) => ({ name: `kernel.shm_rmid_forced${i}`, value: '1' })) },
    }),
  ),
  create('capabilities', 7_500, (n) =>
    pod({}, { securityContext: { capabilities: { add: many(n, (i) => `C${i}`) } } }),
  ),
];
