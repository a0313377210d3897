/** Proves where audit events go beside a file, and that requests wait for them where they are to. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type AuditOptions, StartError, start } from '../../src/cluster/index.ts';
import type { Json } from '../support/http.ts';
import { parseMetrics } from '../support/metrics.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'wherry-auditmodes-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const inFolder = (name: string, text?: string): string => {
  const file = path.join(folder, name);
  if (text !== undefined) writeFileSync(file, text);
  return file;
};
const policyFile = inFolder(
  'policy.yaml',
  'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: None, nonResourceURLs: [/metrics]}, {level: Metadata}]\n',
);

async function withCluster(auditLog: AuditOptions, use: (url: string) => Promise<void>): Promise<void> {
  const cluster = await start({ store: 'memory', controllers: false, auditLog });
  try {
    await use(cluster.url);
  } finally {
    await cluster.close();
  }
}

describe('a file', () => {
  it('has the receipt of a request before its answer, in the mode blocking', async () => {
    const file = inFolder('blocking.log');
    await withCluster({ file, policyFile, fileMode: 'blocking' }, async (url) => {
      await fetch(`${url}/version`, { headers: { 'Audit-Id': 'waits' } });
      expect(readFileSync(file, 'utf8')).toMatch(/"auditID":"waits","stage":"RequestReceived"/);
    });
  });

  it.skipIf(!existsSync('/dev/full'))(
    'that is full lets requests fail in the mode blocking-strict',
    async () => {
      for (const [fileMode, code] of [
        ['blocking', 200],
        ['blocking-strict', 500],
      ] as const)
        await withCluster({ file: '/dev/full', policyFile, fileMode }, async (url) => {
          const answer = await fetch(`${url}/version`);
          expect([fileMode, answer.status]).toEqual([fileMode, code]);
          if (code === 500)
            expect(await answer.json()).toMatchObject({
              reason: 'InternalError',
              message: 'Internal error occurred: failed to store audit event',
            });
        });
    },
  );

  it('may have the old format', async () => {
    const file = inFolder('legacy.log');
    await withCluster({ file, fileFormat: 'legacy' }, async (url) => {
      await fetch(`${url}/version`, { headers: { 'Audit-Id': 'old' } });
    });
    expect(readFileSync(file, 'utf8')).toMatch(
      /^\S+Z AUDIT: id="old" stage="ResponseComplete" ip="127\.0\.0\.1" method="get" .* response="200"$/m,
    );
  });
});

describe('a webhook', () => {
  const events: Json[] = [];
  let server: Server;
  const configFile = inFolder('webhook.kubeconfig');

  it('gets the events of requests, which wait for it in the mode blocking', async () => {
    server = createServer((request, response) => {
      let text = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      request.on('end', () => {
        events.push(...JSON.parse(text).items);
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const config = {
      clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${port}/sink` } }],
      contexts: [{ name: 'a', context: { cluster: 'a' } }],
      'current-context': 'a',
    };
    inFolder('webhook.kubeconfig', JSON.stringify(config));
    const webhook = { configFile, mode: 'blocking' } as const;
    await withCluster({ webhook, policyFile }, async (url) => {
      await fetch(`${url}/api/v1/pods`, { headers: { 'Audit-Id': 'sent' } });
      expect(events).toContainEqual(expect.objectContaining({ auditID: 'sent', stage: 'RequestReceived' }));
      const metrics = parseMetrics(await (await fetch(`${url}/metrics`)).text());
      expect(metrics.value('apiserver_audit_error_total', { plugin: 'webhook' })).toBe(0);
    });
    // What still waited was sent on closing.
    expect(events).toContainEqual(
      expect.objectContaining({ auditID: 'sent', stage: 'ResponseComplete', verb: 'list' }),
    );
    server.close();
    server.closeAllConnections();
  });

  it('that cannot be found keeps a cluster from starting', async () => {
    const bad = (auditLog: AuditOptions) => start({ store: 'memory', controllers: false, auditLog });
    await expect(bad({ webhook: { configFile: inFolder('none') } })).rejects.toThrow(StartError);
    await expect(bad({})).rejects.toThrow('the audit log needs a file or a webhook');
  });
});
