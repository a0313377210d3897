/** Proves that people can work with server-side apply: kubectl applies, shows owners and conflicts, and takes fields over. */
import { expect, test } from 'vitest';
import { withKubectl } from '../kubectl/kubectl.ts';
import { housekeeping } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';

const config = (data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data,
});

const deployment = (name: string, image: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'web', image }] },
    },
  },
});

interface Managed {
  manager: string;
  operation: string;
  subresource?: string;
}

describeWith('kubectl')('kubectl apply --server-side', () => {
  const kubectl = withKubectl({ controllers: housekeeping });
  const apply = (name: string, manifest: object, ...more: string[]) =>
    kubectl().try('apply', '--server-side', '-f', kubectl().file(name, manifest), ...more);
  /** kubectl 1.20 always shows managed fields; later ones when asked to. */
  const shown = async (what: string): Promise<{ metadata: { managedFields: Managed[] } }> =>
    kubectl().json('get', what, ...(kubectl().version === '1.20' ? [] : ['--show-managed-fields']));
  const owners = async (what: string): Promise<string[]> =>
    (await shown(what)).metadata.managedFields.map(({ manager, operation }) => `${manager} ${operation}`);

  test('creates, and says so each time', async () => {
    expect(await apply('a.json', config({ color: 'red' }))).toMatchObject({
      code: 0,
      stdout: 'configmap/settings serverside-applied\n',
    });
    expect((await apply('a.json', config({ color: 'red' }))).stdout).toBe(
      'configmap/settings serverside-applied\n',
    );
    expect(await owners('cm/settings')).toEqual(['kubectl Apply']);
  });

  test('shows a person who else wants a field, and gives way', async () => {
    const { code, stderr } = await apply('b.json', config({ color: 'blue' }), '--field-manager', 'other');
    expect(code).toBe(1);
    expect(stderr).toContain('conflict with "kubectl": .data.color');
    expect(stderr).toContain('--force-conflicts');
    expect((await kubectl().json('get', 'cm/settings')).data).toEqual({ color: 'red' });
  });

  test('shares what is the same, and takes over by force', async () => {
    expect((await apply('b.json', config({ color: 'red' }), '--field-manager', 'other')).code).toBe(0);
    expect((await owners('cm/settings')).sort()).toEqual(['kubectl Apply', 'other Apply']);
    const forced = ['--field-manager', 'other', '--force-conflicts'];
    expect((await apply('b.json', config({ color: 'blue' }), ...forced)).code).toBe(0);
    expect((await kubectl().json('get', 'cm/settings')).data).toEqual({ color: 'blue' });
    expect(await owners('cm/settings')).toEqual(['other Apply']);
  });

  test('removes what is no longer applied, and nothing of others', async () => {
    expect((await apply('c.json', config({ size: '1' }))).code).toBe(0);
    expect((await apply('c.json', config({ shape: 'round' }))).code).toBe(0);
    expect((await kubectl().json('get', 'cm/settings')).data).toEqual({ color: 'blue', shape: 'round' });
  });

  test('tells of owners of each operation and path', async () => {
    expect((await apply('web.json', deployment('web', 'example.com/web:1'))).code).toBe(0);
    await kubectl().run('scale', 'deployment/web', '--replicas', '3');
    await kubectl().run('label', 'deployment/web', 'tier=front');
    const { managedFields } = (await shown('deployment/web')).metadata;
    expect(
      managedFields.map(({ operation, subresource }) => `${operation} ${subresource ?? ''}`.trim()).sort(),
    ).toEqual(['Apply', 'Update', 'Update scale']);
    const refused = await apply('web.json', deployment('web', 'example.com/web:1'));
    expect(refused.stderr).toMatch(
      /conflict with "kubectl.*" with subresource "scale" using apps\/v1: \.spec\.replicas/,
    );
  });

  test('hides owners unless they are asked for', async () => {
    if (kubectl().version === '1.20') return;
    expect(await kubectl().run('get', 'deployment/web', '-o', 'yaml')).not.toContain('managedFields');
    expect(await kubectl().run('get', 'deployment/web', '-o', 'yaml', '--show-managed-fields')).toContain(
      'manager: kubectl',
    );
  });

  test('shows what an apply would change, and changes nothing', async () => {
    const changed = kubectl().file('diff.json', config({ shape: 'square' }));
    const { code, stdout } = await kubectl().try('diff', '--server-side', '-f', changed);
    expect(code, stdout).toBe(1);
    expect(stdout).toMatch(/-\s+shape: round/);
    expect(stdout).toMatch(/\+\s+shape: square/);
    expect((await kubectl().json('get', 'cm/settings')).data).toMatchObject({ shape: 'round' });
    const same = kubectl().file('same.json', config({ shape: 'round' }));
    expect(await kubectl().try('diff', '--server-side', '-f', same)).toMatchObject({ code: 0, stdout: '' });
  });

  test('goes on from client-side apply, and back', async () => {
    const file = (image: string) => kubectl().file('moved.json', deployment('moved', image));
    await kubectl().run('apply', '-f', file('example.com/web:1'));
    const applied = await kubectl().run('apply', 'view-last-applied', 'deployment/moved', '-o', 'json');
    expect(JSON.parse(applied)).toMatchObject(deployment('moved', 'example.com/web:1'));
    expect((await apply('moved.json', deployment('moved', 'example.com/web:2'))).code).toBe(0);
    await kubectl().run('apply', '-f', file('example.com/web:3'));
    const now = await kubectl().run('apply', 'view-last-applied', 'deployment/moved', '-o', 'json');
    expect(JSON.parse(now)).toMatchObject(deployment('moved', 'example.com/web:3'));
  });
});
