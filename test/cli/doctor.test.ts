/** Proves that `wherry doctor` looks at the machine it runs on, and that a start says what matters, after it is ready. */
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Child } from '../support/child.ts';
import { inMemory, stop, useCommand } from '../support/command.ts';

const { children, run } = useCommand();
const fewFiles = 'ulimit -n 512';

describe('wherry doctor', () => {
  it('finds the Node that runs it, and says by its code whether wherry up would start', async () => {
    const { code, stdout, stderr } = await run('doctor', '-o', 'json');
    expect(stderr).toBe('');
    const { findings } = JSON.parse(stdout) as {
      findings: { subject: string; state: string; says: string }[];
    };
    expect(findings).toContainEqual({ subject: 'Node', state: 'ok', says: process.version });
    expect(findings.length).toBeGreaterThan(14);
    expect(code).toBe(findings.some(({ state }) => state === 'error') ? 1 : 0);
  });

  it('fails, with the reason, where the port is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const { code, stdout } = await run('doctor', '--port', String(port));
    server.close();
    expect(code).toBe(1);
    expect(stdout).toMatch(
      new RegExp(`^ERROR +ports +port ${port} on 127\\.0\\.0\\.1 is taken by another process$`, 'm'),
    );
    expect(stdout).toMatch(/→ end what listens there, or take another port: wherry up --port 0/);
  });
});

describe('a start', () => {
  it('that has few files to open says so when it is ready', async () => {
    const args = ['up', ...inMemory, '--secure-port', 'off', '--simulated-nodes', '1'];
    const child = new Child(args, await children.folder(), fewFiles);
    await child.printed(/^Note: open files: only 512 at most; .*wherry doctor says more\)\n/m);
    expect(child.stdout.indexOf('Try: ')).toBeLessThan(child.stdout.indexOf('Note: '));
    await stop(child);
  });
});
