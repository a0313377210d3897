/** What people do with kubectl, on a cluster of a minor of its time. */
import { beforeAll, describe, expect, test } from 'vitest';
import { housekeeping } from '../support/http.ts';
import { withKubectl } from './kubectl.ts';
import type { KubectlProgram } from './programs.ts';

export function kubectlOnMinor(minor: string, program?: KubectlProgram): void {
  const number = Number(minor.split('.')[1]);

  describe(minor, () => {
    const kubectl = withKubectl({ kubernetes: minor, controllers: housekeeping }, program);
    const k = (...args: string[]) => kubectl().run(...args);
    const apply = (manifest: object) =>
      kubectl().try('apply', '-f', kubectl().file('manifest.json', manifest));

    beforeAll(async () => {
      await k('create', 'deployment', 'web', '--image=example.com/web:1');
    });

    test('kubectl finds the versions of the minor', async () => {
      const { serverVersion } = await kubectl().json('version');
      expect(serverVersion).toMatchObject({ major: '1', minor: String(number) });
      const versions = (await k('api-versions')).split('\n');
      expect(versions.includes('policy/v1beta1')).toBe(number < 25);
      expect(versions.includes('resource.k8s.io/v1')).toBe(number >= 34);
      expect(await k('api-resources', '--namespaced=true', '-o', 'name')).toContain('deployments.apps\n');
    });

    test('kubectl explains its fields, and refuses others', async () => {
      expect(await k('explain', 'pod.spec')).toContain('terminationGracePeriodSeconds');
      const later = await kubectl().try('explain', 'pod.spec.hostnameOverride');
      expect([later.code === 0, later.stderr]).toEqual([
        number >= 34,
        number >= 34 ? '' : expect.stringContaining('does not exist'),
      ]);
      const pod = { spec: { containers: [{ name: 'c', image: 'i' }], notYet: true } };
      const { code, stderr } = await apply({
        kind: 'Pod',
        apiVersion: 'v1',
        metadata: { name: 'p' },
        ...pod,
      });
      expect([code, stderr]).toEqual([1, expect.stringContaining('notYet')]);
    });

    test('kubectl makes, changes, shows and deletes', async () => {
      const [heading] = await kubectl().table('get', 'deployments');
      expect(heading).toEqual(['NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE']);
      await k('scale', 'deployment', 'web', '--replicas=0');
      await k('set', 'image', 'deployment/web', 'web=example.com/web:2');
      await k('patch', 'deployment', 'web', '-p', '{"spec":{"paused":true}}');
      await k('autoscale', 'deployment', 'web', '--max=3');
      await k('create', 'cronjob', 'tick', '--image=i', '--schedule=@hourly');
      expect(await k('describe', 'deployment', 'web')).toMatch(/Image: +example\.com\/web:2/);
      expect((await kubectl().json('get', 'deployment', 'web')).spec).toMatchObject({
        replicas: 0,
        paused: true,
      });
      expect(await k('get', 'hpa,cronjobs', '-o', 'name')).toBe(
        'horizontalpodautoscaler.autoscaling/web\ncronjob.batch/tick\n',
      );
      const budget = {
        kind: 'PodDisruptionBudget',
        apiVersion: number < 25 ? 'policy/v1beta1' : 'policy/v1',
        metadata: { name: 'b' },
        spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
      };
      expect(await apply(budget)).toMatchObject({
        code: 0,
        stdout: 'poddisruptionbudget.policy/b created\n',
      });
      expect((await apply(budget)).code).toBe(0);
      expect(await k('delete', 'deployment,hpa,cronjob,pdb', '--all')).toContain('deleted');
    });
  });
}
