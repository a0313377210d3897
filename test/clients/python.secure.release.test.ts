/**
 * Proves that the official Python client works over TLS with a certificate and with a token, for a user who may edit one
 * namespace, and that one without rights is refused the same calls; the calls are in `user.py`.
 */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type Credential,
  credentials,
  kubeconfigOf,
  type Person,
  useSharedCluster,
} from '../access/people.ts';
import type { Json } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';
import { outputOf, runPython } from './python.ts';

const { cluster, port } = useSharedCluster();

/** What all calls gave. */
async function callsOf(person: Person, by: Credential): Promise<Json> {
  const file = path.join(cluster.folder, `${person}-${by}`);
  await writeFile(file, kubeconfigOf(cluster.cluster, person, by));
  const env = { ...cluster.kubectl.environment, KUBECONFIG: file };
  const given = { name: `python-by-${by}`, port: port() };
  const { stdout, stderr } = await outputOf(runPython('user.py', env), given);
  expect(stdout, stderr).not.toBe('');
  return JSON.parse(stdout);
}

describeWith('python3-kubernetes')('the Python client', () => {
  describe.each(credentials)('with a %s', (by) => {
    it('lists, watches, executes, follows and forwards', async () => {
      expect(await callsOf('alice', by)).toEqual({
        list_pods: ['server', 'teller'],
        watch_config_maps: 'ADDED',
        run_command: ['heard something', 3],
        follow_log: ['line 0', 'line 1', 'line 2'],
        forward_port: 'over the wire',
      });
    });

    it('is refused each of these for one who may nothing', async () => {
      const refused = expect.stringContaining('403 Forbidden');
      expect(await callsOf('eve', by)).toEqual({
        list_pods: 403,
        watch_config_maps: 403,
        run_command: refused,
        follow_log: 403,
        forward_port: refused,
      });
    });
  });
});
