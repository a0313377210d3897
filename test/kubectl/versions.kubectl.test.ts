/** kubectl and kinds with several API versions: it uses the current one, and old manifests use the one they name. */
import { beforeAll, expect, test } from 'vitest';
import { housekeeping } from '../support/http.ts';
import { describeWith } from '../support/tools.ts';
import { withKubectl } from './kubectl.ts';

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'c', image: 'example.com/web:1' }] },
};
const once = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };

const object = (apiVersion: string, kind: string, name: string, fields: object) => ({
  apiVersion,
  kind,
  metadata: { name },
  ...fields,
});

const controller = object('v1', 'ReplicationController', 'web', {
  spec: { replicas: 1, selector: { app: 'web' }, template },
});
const scaleTargetRef = { apiVersion: 'v1', kind: 'ReplicationController', name: 'web' };
const memory = {
  type: 'Resource',
  resource: { name: 'memory', target: { type: 'Utilization', averageUtilization: 70 } },
};

describeWith('kubectl')('kubectl', () => {
  const kubectl = withKubectl({ controllers: housekeeping });
  const k = (...args: string[]) => kubectl().run(...args);
  const create = (manifest: object) => k('create', '-f', kubectl().file('manifest.json', manifest));

  beforeAll(async () => {
    await create(controller);
  });

  test('create job, get and describe it', async () => {
    expect(await k('create', 'job', 'made', '--image=example.com/job:1', '--', 'echo', 'a')).toBe(
      'job.batch/made created\n',
    );
    const [heading, row] = await kubectl().table('get', 'jobs');
    expect(heading).toEqual(['NAME', 'STATUS', 'COMPLETIONS', 'DURATION', 'AGE']);
    expect(row!.slice(0, 3)).toEqual(['made', 'Running', '0/1']);
    const text = await k('describe', 'job', 'made');
    expect(text).toMatch(/^Name: +made$/m);
    expect(text).toMatch(/^Parallelism: +1$/m);
    expect(text).toMatch(/^ +Image: +example\.com\/job:1$/m);
    expect(text).toMatch(/^Selector: +batch\.kubernetes\.io\/controller-uid=/m);
    expect((await kubectl().json('get', 'job', 'made')).apiVersion).toBe('batch/v1');
  });

  test('create -f of a job, today and then', async () => {
    expect(
      await create(object('batch/v1', 'Job', 'today', { spec: { template: once, backoffLimit: 1 } })),
    ).toBe('job.batch/today created\n');
    expect(await create(object('extensions/v1beta1', 'Job', 'then', { spec: { template: once } }))).toBe(
      'job.extensions/then created\n',
    );
    expect(await k('get', 'jobs', '-o', 'name')).toBe('job.batch/made\njob.batch/then\njob.batch/today\n');
    expect(await k('get', 'jobs.v1beta1.extensions', 'today', '-o', 'name')).toBe('job.extensions/today\n');
    const old = await kubectl().json('get', 'jobs.v1beta1.extensions', 'today');
    expect(old.spec).not.toHaveProperty('backoffLimit');
    old.spec.parallelism = 2;
    expect(await k('replace', '-f', kubectl().file('old.json', old))).toBe('job.extensions/today replaced\n');
    expect((await kubectl().json('get', 'job', 'today')).spec).toMatchObject({
      parallelism: 2,
      backoffLimit: 1,
    });
  });

  test('apply of a job, today and then', async () => {
    const today = object('batch/v1', 'Job', 'applied', { spec: { template: once } }) as any;
    const apply = (manifest: object) => k('apply', '-f', kubectl().file('applied.json', manifest));
    expect(await apply(today)).toBe('job.batch/applied created\n');
    expect(await apply(today)).toBe('job.batch/applied unchanged\n');
    today.spec.parallelism = 3;
    expect(await apply(today)).toBe('job.batch/applied configured\n');
    const then = object('extensions/v1beta1', 'Job', 'applied-then', { spec: { template: once } }) as any;
    expect(await apply(then)).toBe('job.extensions/applied-then created\n');
    then.spec.parallelism = 3;
    expect(await apply(then)).toBe('job.extensions/applied-then configured\n');
    expect((await kubectl().json('get', 'job', 'applied-then')).spec.parallelism).toBe(3);
    expect(await k('delete', 'job', 'applied', 'applied-then')).toBe(
      'job.batch "applied" deleted\njob.batch "applied-then" deleted\n',
    );
  });

  test('autoscale, get and describe hpa', async () => {
    expect(await k('autoscale', 'rc', 'web', '--min=2', '--max=5', '--cpu-percent=60')).toBe(
      'horizontalpodautoscaler.autoscaling/web autoscaled\n',
    );
    const [heading, row] = await kubectl().table('get', 'hpa');
    expect(heading).toEqual(['NAME', 'REFERENCE', 'TARGETS', 'MINPODS', 'MAXPODS', 'REPLICAS', 'AGE']);
    expect(row!.slice(0, 6)).toEqual([
      'web',
      'ReplicationController/web',
      'cpu: <unknown>/60%',
      '2',
      '5',
      '0',
    ]);
    const text = await k('describe', 'hpa', 'web');
    expect(text).toMatch(/^Reference: +ReplicationController\/web$/m);
    expect(text).toEqual(
      kubectl().wording({
        '1.20': /^Target CPU utilization: +60%$/m,
        '1.32': /^ +resource cpu on pods +\(as a percentage of request\): +<unknown> \/ 60%$/m,
      }),
    );
    expect(text).toMatch(/^Min replicas: +2$/m);
    expect(await kubectl().json('get', 'hpa', 'web')).toMatchObject({
      apiVersion: 'autoscaling/v2',
      spec: { metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 60 } } }] },
    });
  });

  test('create -f of an autoscaler, today and then', async () => {
    const v2 = { spec: { scaleTargetRef, maxReplicas: 3, metrics: [memory] } };
    expect(await create(object('autoscaling/v2', 'HorizontalPodAutoscaler', 'v2', v2))).toBe(
      'horizontalpodautoscaler.autoscaling/v2 created\n',
    );
    const v1 = { spec: { scaleTargetRef, maxReplicas: 3, targetCPUUtilizationPercentage: 50 } };
    expect(await create(object('autoscaling/v1', 'HorizontalPodAutoscaler', 'v1', v1))).toBe(
      'horizontalpodautoscaler.autoscaling/v1 created\n',
    );
    const then = {
      spec: { scaleRef: scaleTargetRef, maxReplicas: 3, cpuUtilization: { targetPercentage: 40 } },
    };
    expect(await create(object('extensions/v1beta1', 'HorizontalPodAutoscaler', 'then', then))).toBe(
      'horizontalpodautoscaler.extensions/then created\n',
    );
    const rows = (await kubectl().table('get', 'hpa')).slice(1);
    expect(rows.map(([name, , targets]) => [name, targets])).toEqual([
      ['then', 'cpu: <unknown>/40%'],
      ['v1', 'cpu: <unknown>/50%'],
      ['v2', 'memory: <unknown>/70%'],
      ['web', 'cpu: <unknown>/60%'],
    ]);
    expect(await k('label', 'hpa.v1.autoscaling', 'v2', 'touched=yes')).toContain('labeled');
    expect((await kubectl().json('get', 'hpa', 'v2')).spec.metrics).toEqual([memory]);
  });

  test('get all shows each thing once', async () => {
    const names = (await k('get', 'all', '-o', 'name')).trimEnd().split('\n');
    expect(names).toEqual([...new Set(names)]);
    expect(names.filter((name) => /^(job|horizontalpodautoscaler)/.test(name))).toEqual([
      ...['then', 'v1', 'v2', 'web'].map((name) => `horizontalpodautoscaler.autoscaling/${name}`),
      ...['made', 'then', 'today'].map((name) => `job.batch/${name}`),
    ]);
  });

  test('events of both homes are one list', async () => {
    const regarding = { kind: 'Pod', namespace: 'default', name: 'p' };
    const fields = {
      eventTime: '2024-05-01T12:00:00.000000Z',
      reportingController: 'example.com/c',
      reportingInstance: 'c-1',
      action: 'Act',
      reason: 'Because',
      regarding,
      note: 'it happened',
      type: 'Normal',
    };
    expect(await create(object('events.k8s.io/v1', 'Event', 'today', fields))).toBe(
      'event.events.k8s.io/today created\n',
    );
    await create(object('v1', 'Event', 'then', { involvedObject: regarding, message: 'it happened too' }));
    expect(await k('get', 'events', '-o', 'name')).toBe('event/then\nevent/today\n');
    expect(await k('get', 'ev', 'today')).toMatch(/Normal +Because +pod\/p +it happened$/m);
    expect(await k('get', 'events.events.k8s.io', '-o', 'name')).toBe(
      'event.events.k8s.io/then\nevent.events.k8s.io/today\n',
    );
  });

  test('leases show their holders', async () => {
    await create(object('coordination.k8s.io/v1', 'Lease', 'leader', { spec: { holderIdentity: 'one' } }));
    const [heading, row] = await kubectl().table('get', 'leases');
    expect(heading).toEqual(['NAME', 'HOLDER', 'AGE']);
    expect(row!.slice(0, 2)).toEqual(['leader', 'one']);
  });

  test('delete in any version', async () => {
    expect(await k('delete', 'job', 'made')).toBe('job.batch "made" deleted\n');
    expect(await k('delete', 'jobs.v1beta1.extensions', 'today')).toBe('job.extensions "today" deleted\n');
    expect(await k('delete', 'job', 'then', '--cascade=orphan')).toBe('job.batch "then" deleted\n');
    expect(await k('delete', 'hpa', '--all')).toContain('horizontalpodautoscaler.autoscaling "v1" deleted');
    expect(await k('get', 'jobs.v1beta1.extensions', '-o', 'name')).toBe('');
  });
});
