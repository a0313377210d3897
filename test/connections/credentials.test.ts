/** Proves that the cluster creates its node authority at first use, keeps it, and uses a replaced one at once. */

import { once } from 'node:events';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import {
  authorityData,
  authorityOf,
  issueServingCertificate,
  makeNodeAuthority,
} from '../../src/pki/node-certificates.ts';
import { useCluster } from '../support/http.ts';
import { nodeAt, podOn } from '../support/kubelet.ts';

const client = useCluster({ controllers: false });
const pods = '/api/v1/namespaces/default/pods';
const secret = '/api/v1/namespaces/kube-system/secrets/wherry-node-ca';

/** An agent that takes its certificate from the secret, like real agents. */
async function agent(ca: { cert: string; key: string }) {
  const server = createServer(
    { ...(await issueServingCertificate(ca, { ips: ['127.0.0.1'] })), ca: ca.cert, requestCert: true },
    (request, response) => {
      const { authorized } = request.socket as unknown as { authorized: boolean };
      response.end(authorized ? 'known' : 'unknown');
    },
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

it('an authority is made with the first connection, and replaced by replacing its secret', async () => {
  const stranger = await makeNodeAuthority(Date.now());
  const first = await agent(stranger.ca);
  await client.post('/api/v1/nodes', nodeAt('n1', first.port));
  await client.post(pods, podOn('p', 'n1'));
  expect((await client.get(secret)).status).toBe(404);
  // Two concurrent requests create one authority.
  const answers = await Promise.all([client.get(`${pods}/p/log`), client.get(`${pods}/p/log`)]);
  for (const { body } of answers)
    expect(body.message).toContain('x509: certificate signed by unknown authority');
  const made = (await client.get(secret)).body;
  expect(made.metadata.resourceVersion).toBe((await client.get(secret)).body.metadata.resourceVersion);
  const authority = authorityOf(made.data)!;

  const own = await agent(authority.ca);
  await client.patch('/api/v1/nodes/n1/status', {
    status: { daemonEndpoints: { kubeletEndpoint: { Port: own.port } } },
  });
  expect((await client.get(`${pods}/p/log`)).text).toBe('known');

  await client.put(secret, { ...made, data: authorityData(stranger) });
  expect((await client.get(`${pods}/p/log`)).status).toBe(500);
  await client.patch('/api/v1/nodes/n1/status', {
    status: { daemonEndpoints: { kubeletEndpoint: { Port: first.port } } },
  });
  expect((await client.get(`${pods}/p/log`)).text).toBe('known');
  for (const { server } of [first, own]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});
