/**
 * The example in examples/replicas, end to end: three members of etcd, three servers and HAProxy, of which a server and
 * the leader are killed and a member is paused while one client writes and another watches. How long no write was
 * acknowledged is for the example to print: it depends on the machine.
 */
import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { etcds } from '../../src/store/etcd/etcd-server.fixture.ts';
import { describeWith } from '../support/tools.ts';

const example = path.join(import.meta.dirname, '../../examples/replicas/run.mjs');

describeWith('etcd-server')('three replicas', () => {
  describeWith('haproxy')('behind a balancer', () => {
    it('lose nothing, and a watcher sees every write once and in order', async () => {
      const [, etcd] = etcds.at(-1)!;
      const child = spawn(process.execPath, [example], {
        stdio: ['ignore', 'pipe', 'inherit'],
        env: {
          ...process.env,
          PATH: [path.dirname(etcd), process.env.PATH, '/usr/sbin'].join(path.delimiter),
        },
      });
      onTestFinished(() => void child.kill());
      const printed = await text(child.stdout);
      const [, acknowledged, lost] = /^(\d+) writes acknowledged, (\d+) of them lost$/m.exec(printed) ?? [];
      expect(Number(acknowledged), printed).toBeGreaterThan(100);
      expect(lost, printed).toBe('0');
      expect(printed).toMatch(/^the watcher saw each of them once and in order/m);
      for (const what of ['kill -9 of a server', 'kill -9 of the leader', 'paused for 10 s'])
        expect(printed).toMatch(new RegExp(`${what}.*: [1-9]\\d* writes acknowledged`));
    });
  });
});
