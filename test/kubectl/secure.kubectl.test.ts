/** Proves that kubectl does its work over TLS with a client certificate, also when the local door is closed. */
import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { podOf, shell, useRunningCluster } from '../streams/running.ts';
import { describeWith } from '../support/tools.ts';

const cluster = useRunningCluster({
  port: 'off',
  secure: true,
  users: [{ name: 'bob', groups: ['dev'] }],
});

const server = `node -e "require('http').createServer((q,r)=>r.end('served')).listen(0,'127.0.0.1',function(){console.log('port',this.address().port)})"`;

describeWith('kubectl')('kubectl over TLS', () => {
  beforeAll(async () => {
    const file = path.join(cluster.folder, 'pod.json');
    const pod = podOf(
      'one',
      shell(`i=0; ${server} & while true; do echo line $i; i=$((i+1)); sleep 0.2; done`),
    );
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Pod', ...pod }));
    expect(await cluster.kubectl.try('create', '-f', file)).toMatchObject({ code: 0 });
    const waited = await cluster.kubectl.try('wait', '--for=condition=Ready', 'pod/one', '--timeout=60s');
    expect(waited).toMatchObject({ code: 0 });
  });

  it('reads, watches and changes objects', async () => {
    expect((await cluster.kubectl.try('get', 'nodes')).stdout).toMatch(/here +Ready/);
    const watch = cluster.command('get', 'configmaps', '--watch', '-o', 'name');
    expect(await cluster.kubectl.try('create', 'configmap', 'seen')).toMatchObject({ code: 0 });
    await watch.until(/configmap\/seen/);
    await watch.end();
    expect(await cluster.kubectl.try('label', 'pod', 'one', 'a=b')).toMatchObject({ code: 0 });
  });

  it('runs commands and follows logs', async () => {
    expect(await cluster.kubectl.try('exec', 'one', '--', 'sh', '-c', 'echo out; exit 3')).toMatchObject({
      code: 3,
      stdout: 'out\n',
    });
    const cat = cluster.command('exec', '-i', 'one', '--', 'cat');
    cat.stdin.end('abc\n');
    await cat.until(/abc/);
    const logs = cluster.command('logs', '-f', 'one');
    await logs.until(/line 3/);
    await logs.end();
  });

  it('forwards ports', async () => {
    const { stdout } = await cluster.kubectl.try('logs', 'one');
    const port = /port (\d+)/.exec(stdout)![1]!;
    const forward = cluster.command('port-forward', 'pod/one', `:${port}`);
    const local = (await forward.until(/127\.0\.0\.1:(\d+) ->/))[1]!;
    const text = await new Promise<string>((resolve, reject) => {
      get({ host: '127.0.0.1', port: Number(local) }, (answer) => {
        answer.setEncoding('utf8').on('data', resolve);
      }).on('error', reject);
    });
    expect(text).toBe('served');
    await forward.end();
  });

  it('is refused what a user may not do', async () => {
    const file = path.join(cluster.folder, 'bob');
    writeFileSync(file, cluster.cluster.kubeconfigFor('bob'));
    const refused = await cluster.kubectl.try('--kubeconfig', file, 'get', 'pods');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/User "bob" cannot list resource "pods"/);
    expect(() => cluster.cluster.kubeconfigFor('eve')).toThrow(/without a user "eve"/);
  });
});
