/** Proxying with real clients: kubectl and the JavaScript client. Streaming contract, 12.13. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { describe, expect, it } from 'vitest';
import { kubectls } from '../../../test/kubectl/programs.ts';
import { describeWith } from '../../../test/support/tools.ts';
import { machineAddress, useProxied } from './proxying.fixture.ts';

const api = useProxied();
const address = machineAddress ?? '';

/** A pod that answers with the request it got; returns its name and port. */
async function pod(name: string): Promise<string> {
  const port = await api.listen(address, (request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ saw: `${request.method} ${request.url}` }));
  });
  await api.pod(name, address);
  return `${name}:${port}`;
}

describeWith('kubectl')('kubectl', () => {
  it.skipIf(!machineAddress)('reads through both forms, and shows refusals', async () => {
    // Proves that `kubectl get --raw` works.
    const id = await pod('for-kubectl');
    const raw = (path: string) =>
      promisify(execFile)(kubectls[0]!.program, [
        '--server',
        api.url,
        '--kubeconfig',
        '/dev/null',
        'get',
        '--raw',
        path,
      ]);
    for (const base of [`/api/v1/namespaces/ns/pods/${id}/proxy`, `/api/v1/proxy/namespaces/ns/pods/${id}`])
      expect((await raw(`${base}/a?b=c`)).stdout).toBe('{"saw":"GET /a?b=c"}');
    await expect(raw('/api/v1/namespaces/ns/pods/for-kubectl:1/proxy/')).rejects.toMatchObject({
      stderr: expect.stringContaining('connect: connection refused'),
    });
  });
});

describe('the JavaScript client', () => {
  it.skipIf(!machineAddress)('calls a pod, with the path in the tail and as a parameter', async () => {
    // Proves that the proxy calls of the client library work.
    const config = new KubeConfig();
    config.loadFromClusterAndUser({ name: 'c', server: api.url, skipTLSVerify: true }, { name: 'u' });
    const core = config.makeApiClient(CoreV1Api);
    const name = await pod('for-javascript');
    const wanted = { name, namespace: 'ns', path: 'a' };
    expect(await core.connectGetNamespacedPodProxyWithPath(wanted)).toEqual({ saw: 'GET /a' });
    expect(await core.connectGetNamespacedPodProxy(wanted)).toEqual({ saw: 'GET /a' });
    expect(await core.connectDeleteNamespacedPodProxyWithPath(wanted)).toEqual({ saw: 'DELETE /a' });
  });
});
