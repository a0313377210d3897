/** Proves that actions say what they would do, do it, and name the command that does the same. */
import { beforeAll, expect, it, vi } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { useBrowser, useBuiltCluster } from './browser.ts';
import { cronJob, cronJobs, deployment, deployments, jobs, pods } from './workloads.ts';

describeWith('chromium')('an action', () => {
  const server = useBuiltCluster();
  const browser = useBrowser();
  const web = async () => (await server.client.get(`${deployments}/web`)).body;

  beforeAll(async () => {
    await server.client.post(deployments, deployment('web', 2));
    await server.client.post(cronJobs, cronJob('report'));
    await vi.waitFor(async () => expect((await web()).status?.readyReplicas).toBe(2), { timeout: 60_000 });
  });

  /** Opens the dialog of an action. */
  async function begin(path: string, button: string) {
    const page = await browser.open(`${server.cluster.url}${path}`);
    await page.getByRole('button', { name: button, exact: true }).click();
    const dialog = page.getByRole('dialog');
    return {
      page,
      dialog,
      command: () => dialog.getByLabel('Command', { exact: true }).first().textContent(),
      confirm: async (name: string) => {
        await dialog.getByRole('button', { name, exact: true }).click();
        await dialog.waitFor({ state: 'detached' });
      },
    };
  }

  it('scales', async () => {
    const { dialog, command, confirm } = await begin('/ui/object/deployments.apps/default/web', 'Scale');
    await dialog.getByLabel('Replicas').fill('3');
    await dialog.getByText('from 2 to 3').waitFor();
    expect(await command()).toBe('kubectl scale deployments.apps/web --replicas=3 --namespace default');
    await confirm('Scale');
    expect((await web()).spec.replicas).toBe(3);
  });

  it('restarts and rolls back', async () => {
    const first = await begin('/ui/object/deployments.apps/default/web', 'Restart');
    await first.dialog.getByText('restartedAt').waitFor();
    await first.confirm('Restart');
    expect(Object.keys((await web()).spec.template.metadata.annotations)).toEqual([
      'kubectl.kubernetes.io/restartedAt',
    ]);
    const revision = async () => (await web()).metadata.annotations?.['deployment.kubernetes.io/revision'];
    await expect.poll(revision).toBe('2');
    const { command, confirm, dialog } = await begin('/ui/object/deployments.apps/default/web', 'Roll back');
    await dialog.getByText('Set the pod template').waitFor();
    expect(await command()).toBe(
      'kubectl rollout undo deployments.apps/web --to-revision=1 --namespace default',
    );
    await confirm('Roll back');
    expect((await web()).spec.template.metadata.annotations).toBeUndefined();
  });

  it('runs a cron job now', async () => {
    const { dialog, command, confirm } = await begin('/ui/object/cronjobs.batch/default/report', 'Run now');
    await dialog.getByLabel('Name of the job').fill('by-hand');
    expect(await command()).toBe('kubectl create job by-hand --from=cronjob/report --namespace default');
    await confirm('Run');
    const { body } = await server.client.get(`${jobs}/by-hand`);
    expect(body.metadata.ownerReferences).toMatchObject([
      { kind: 'CronJob', name: 'report', controller: true },
    ]);
  });

  it('runs a pod, and shows a refusal in the words of the server', async () => {
    const { dialog, confirm } = await begin('/ui/list/pods?ns=default', 'Run a pod');
    await dialog.getByLabel('Name').fill('quick');
    await dialog.getByLabel('Image').fill('busybox');
    await dialog.getByText('kubectl run quick --image=busybox').waitFor();
    await confirm('Run');
    expect((await server.client.get(`${pods}/quick`)).status).toBe(200);
    const page = await browser.open(`${server.cluster.url}/ui/list/pods?ns=default`, {}, /422/);
    await page.getByRole('button', { name: 'Run a pod' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Not A Name');
    await page.getByRole('button', { name: 'Run', exact: true }).click();
    await page.getByRole('alert').getByText('metadata.name').first().waitFor();
  });

  it('cordons, drains and uncordons a node, and evicts a pod', async () => {
    const node = async () => (await server.client.get('/api/v1/nodes/simulated-1')).body;
    const podsThere = async () =>
      (await server.client.get(`${pods}?labelSelector=app=web&fieldSelector=spec.nodeName=simulated-1`)).body
        .items.length;
    const first = await begin('/ui/object/nodes/-/simulated-1', 'Cordon');
    await first.confirm('Cordon');
    expect((await node()).spec.unschedulable).toBe(true);
    const second = await begin('/ui/object/nodes/-/simulated-1', 'Drain');
    await second.dialog.getByText('Cordon the node').waitFor();
    expect(await second.command()).toContain('kubectl drain simulated-1 --ignore-daemonsets');
    await second.confirm('Drain');
    await expect.poll(podsThere).toBe(0);
    await second.page.getByRole('button', { name: 'Uncordon' }).click();
    await second.confirm('Uncordon');
    expect((await node()).spec.unschedulable).toBeUndefined();
    const [pod] = (await server.client.get(`${pods}?labelSelector=app=web`)).body.items;
    const evict = await begin(`/ui/object/pods/default/${pod.metadata.name}`, 'Evict');
    await evict.dialog.getByText('disruption budget').waitFor();
    await evict.confirm('Evict');
    await expect
      .poll(async () => (await server.client.get(`${pods}/${pod.metadata.name}`)).body.metadata?.uid)
      .not.toBe(pod.metadata.uid);
  });
});
