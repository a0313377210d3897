/** The operator in examples/operator, end to end: its kind, its webhook in a pod behind a service, finalizer and status. */
import { fileURLToPath } from 'node:url';
import { KubeConfig } from '@kubernetes/client-node';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deploy, webhookHost } from '../../examples/operator/deployment.ts';
import { WebsiteOperator } from '../../examples/operator/operator.ts';
import { type Cluster, start } from '../../src/cluster/index.ts';
import { Authority, makeAuthority, servingUsages } from '../../src/pki/authority.ts';
import { freePorts } from '../support/free-ports.ts';
import { Client, type Reply } from '../support/http.ts';

const websites = '/apis/example.com/v1/namespaces/default/websites';
const page = '/api/v1/namespaces/default/configmaps/page-hello';
const waitMs = 60_000;

describe('the operator of the example', () => {
  let cluster: Cluster;
  let client: Client;
  let operator: WebsiteOperator;
  const said: string[] = [];

  beforeAll(async () => {
    cluster = await start({ port: 0, node: true, like: 'kubernetes' });
    client = new Client(cluster.url);
    const config = new KubeConfig();
    config.loadFromString(cluster.kubeconfig);
    const authority = new Authority(makeAuthority('operator', Date.now()));
    const hosts = [webhookHost('default')];
    const serving = authority.issue(
      { subject: { commonName: hosts[0]! }, usages: servingUsages, hosts, lifeMs: 3600_000 },
      Date.now(),
    );
    const webhook = await build({
      entryPoints: [fileURLToPath(new URL('../../examples/operator/webhook.ts', import.meta.url))],
      bundle: true,
      platform: 'node',
      format: 'esm',
      write: false,
    });
    await cluster.nodesReady;
    const code = webhook.outputFiles[0]!.text;
    const [port] = await freePorts(1);
    await deploy(config, 'default', { code, ...serving, ca: authority.pem.cert, port: port! });
    operator = new WebsiteOperator(config, (line) => said.push(line));
    await operator.start();
  }, 240_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.close();
  });

  async function until(path: string, fits: (reply: Reply) => boolean): Promise<Reply> {
    const end = Date.now() + waitMs;
    for (;;) {
      const reply = await client.get(path);
      if (fits(reply)) return reply;
      if (Date.now() > end) throw new Error(`${path} is ${reply.status} ${reply.text}\n${said.join('\n')}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  const site = (spec: object) => ({
    apiVersion: 'example.com/v1',
    kind: 'Website',
    metadata: { name: 'hello' },
    spec,
  });

  it('has a webhook that fills in the text, and one that refuses', async () => {
    const refused = await client.post(websites, site({ title: 'the harbour', text: 'SHOUTING' }));
    expect([refused.status, refused.body.message]).toEqual([
      422,
      'admission webhook "check.websites.example.com" denied the request: please do not shout',
    ]);
    const { status, body } = await client.post(websites, site({ title: 'the harbour' }));
    expect([status, body.spec.text]).toEqual([201, 'Welcome to the harbour.']);
  });

  it('makes the page, and says so in the status', async () => {
    const { body } = await until(`${websites}/hello`, (reply) => reply.body.status?.phase === 'Ready');
    expect(body.status).toEqual({ phase: 'Ready', page: 'page-hello', observedGeneration: 1 });
    expect(body.metadata.finalizers).toEqual(['websites.example.com/page']);
    expect((await client.get(page)).body.data['index.html']).toMatch('Welcome to the harbour.');
    await client.patch(`${websites}/hello`, { spec: { text: 'Closed.' } });
    await until(`${websites}/hello`, (reply) => reply.body.status?.observedGeneration === 2);
    expect((await client.get(page)).body.data['index.html']).toMatch('Closed.');
  });

  it('removes the page before the Website goes', async () => {
    await client.delete(`${websites}/hello`);
    await until(`${websites}/hello`, (reply) => reply.status === 404);
    expect((await client.get(page)).status).toBe(404);
  });
});
