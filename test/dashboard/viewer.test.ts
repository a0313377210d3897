/**
 * Proves what the dashboard offers users who may only view, at the secure door: all that they may see, nothing that they
 * may not do, and no request that is refused.
 */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, vi } from 'vitest';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import { follow, useBrowser, useBuiltCluster } from './browser.ts';
import { cronJob, cronJobs, deployment, deployments } from './workloads.ts';

const accounts = '/api/v1/namespaces/default/serviceaccounts';
const rbac = '/apis/rbac.authorization.k8s.io/v1';

describeWith('chromium')('the page of a user who may only view', () => {
  const server = useBuiltCluster({ simulatedNodes: 1, secure: true });
  const browser = useBrowser();
  const tokens = new Map<string, string>();

  beforeAll(async () => {
    const { client } = server;
    await client.post(deployments, deployment('web', 2));
    await client.post(cronJobs, cronJob('report'));
    await client.post('/api/v1/namespaces/default/persistentvolumeclaims', {
      metadata: { name: 'data' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'none',
        resources: { requests: { storage: '1Gi' } },
      },
    });
    for (const name of ['everywhere', 'within']) {
      await client.post(accounts, { metadata: { name } });
      const spec = { expirationSeconds: 3_600 };
      tokens.set(name, (await client.post(`${accounts}/${name}/token`, { spec })).body.status.token);
    }
    const view = (name: string) => ({
      metadata: { name },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'ServiceAccount', namespace: 'default', name }],
    });
    await client.post(`${rbac}/clusterrolebindings`, view('everywhere'));
    await client.post(`${rbac}/namespaces/default/rolebindings`, view('within'));
    await vi.waitFor(
      async () => expect((await client.get(`${deployments}/web`)).body.status?.readyReplicas).toBe(2),
      { timeout: 60_000 },
    );
  });

  /** A page of the user; `refused` gets what the server refuses from then on. */
  const signIn = async (name: string, complaint = /40[13]/): Promise<{ page: Page; refused: string[] }> => {
    const page = await browser.open(
      `${server.cluster.secureUrl}/ui/`,
      { ignoreHTTPSErrors: true },
      complaint,
    );
    await page.getByLabel('Token').fill(tokens.get(name)!);
    const refused: string[] = [];
    page.on('response', (answer) => {
      if (answer.status() >= 400)
        refused.push(`${answer.status()} ${answer.request().method()} ${answer.url()}`);
    });
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText(`system:serviceaccount:default:${name}`).waitFor();
    return { page, refused };
  };

  it('shows what there is to see, and no buttons for what the user may not do', async () => {
    const { page, refused } = await signIn('everywhere');
    await page.getByRole('heading', { name: 'Pods' }).waitFor();
    await page.getByRole('heading', { name: 'Recent warnings' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Nodes' }).count()).toBe(0);
    await page.keyboard.type(':deploy default');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'web', exact: true }).waitFor();
    expect(await page.getByRole('link', { name: 'Create' }).count()).toBe(0);
    expect(await page.getByLabel('Select all').count()).toBe(0);
    await page.getByRole('link', { name: 'web', exact: true }).click();
    await page.locator('.tree').getByText('ReplicaSet').waitFor();
    for (const name of ['Scale', 'Restart', 'Roll back', 'Delete'])
      expect(await page.getByRole('button', { name }).count(), name).toBe(0);
    expect(await page.getByRole('tab').allTextContents()).toEqual(['Summary', 'YAML', 'Logs', 'History']);
    await page.locator('.tree a').last().click();
    await page.getByRole('tab', { name: 'Logs' }).waitFor();
    expect(await page.getByRole('tab', { name: 'Terminal' }).count()).toBe(0);
    await page.getByRole('tab', { name: 'History' }).click();
    await page.locator('.versions li').first().waitFor();
    await page.keyboard.press('t');
    await page.getByRole('slider').waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.locator('.lane').filter({ hasText: 'Deployment web' }).waitFor();
    expect(await page.getByRole('link', { name: 'Secrets' }).count()).toBe(0);
    expect(refused).toEqual([]);
  });

  it.runIf(isRelease)('shows every screen without a request that is refused', async () => {
    const { page, refused } = await signIn('everywhere');
    const [pod] = (await server.client.get('/api/v1/namespaces/default/pods')).body.items;
    // Where rights decide about the first requests the dashboard is loaded anew, elsewhere links are followed.
    const loaded = new Set([
      '',
      'timeline?ns=default',
      'list/secrets?ns=default',
      'object/secrets/default/none',
    ]);
    const at = async (path: string, text: string | RegExp) => {
      if (loaded.has(path)) await page.goto(`${server.cluster.secureUrl}/ui/${path}`);
      else await follow(page, `/ui/${path}`);
      await page.locator('main').getByText(text).first().waitFor();
    };
    for (const [path, text] of [
      ['', 'Recent warnings'],
      ['problems', /^No problems|PersistentVolumeClaim default/],
      ['list/events', 'ScalingReplicaSet'],
      ['list/configmaps?ns=default', 'kube-root-ca.crt'],
      ['snapshots', 'You may not use snapshots.'],
      ['timeline?ns=default', 'Deployment web'],
      [`object/pods/default/${pod.metadata.name}`, 'Running'],
      [`object/pods/default/${pod.metadata.name}?tab=logs`, /lines|log/],
      ['object/deployments.apps/default/web?tab=logs', /lines|log/],
      ['object/deployments.apps/default/web?tab=yaml', 'apiVersion'],
      ['object/deployments.apps/default/web?tab=edit', 'All pods are ready'],
      ['object/deployments.apps/default/web?tab=history', 'What did I change?'],
      [`object/pods/default/${pod.metadata.name}?tab=usage`, /CPU|figures/],
      [`object/pods/default/${pod.metadata.name}?tab=history`, 'What did I change?'],
      [`object/replicasets.apps/default/${pod.metadata.ownerReferences[0].name}`, 'All pods are ready'],
      ['list/pods?ns=default', pod.metadata.name],
      ['list/deployments.apps', 'web'],
      ['list/ingresses.networking.k8s.io', 'There are no Ingresses'],
      ['list/secrets?ns=default', 'Secrets cannot be shown.'],
      ['object/secrets/default/none', 'Secret none cannot be shown.'],
      ['list/nodes', 'Nodes cannot be shown.'],
      ['create/deployments.apps?ns=default', 'Create'],
      ['object/services/default/kubernetes', 'Reached from'],
      ['object/configmaps/default/kube-root-ca.crt', 'ca.crt'],
      ['object/cronjobs.batch/default/report', 'Next runs'],
      ['object/persistentvolumeclaims/default/data', 'Pending'],
      ['object/namespaces/-/default', 'Active'],
    ] as const)
      await at(path, text);
    expect(await page.getByRole('link', { name: 'Snapshots' }).count()).toBe(0);
    for (const name of ['Edit', 'Add a key', 'Run now', 'Delete'])
      expect(await page.getByRole('button', { name }).count(), name).toBe(0);
    expect(refused).toEqual([]);
  });

  it('requests nothing that is refused when answers about rights are lost', async () => {
    const { page, refused } = await signIn('everywhere', /40[13]|ERR_FAILED/);
    let lost = 0;
    await page.route('**/selfsubjectrulesreviews', (route) =>
      lost++ < 3 ? route.abort() : route.continue(),
    );
    await page.goto(`${server.cluster.secureUrl}/ui/object/configmaps/default/kube-root-ca.crt`);
    await page.locator('main').getByText('ca.crt').first().waitFor();
    await page.getByRole('link', { name: 'Deployments' }).waitFor();
    expect(lost).toBeGreaterThan(3);
    expect(refused).toEqual([]);
  });

  it('works for a user who may see one namespace alone', async () => {
    const { page, refused } = await signIn('within');
    await page.getByText('Choose a namespace above').waitFor();
    await page.getByLabel('Namespace').fill('default');
    await page.getByLabel('Namespace').press('Enter');
    await page.getByRole('heading', { name: 'Pods' }).waitFor();
    await page.locator('nav').getByRole('link', { name: 'Deployments' }).click();
    await page.getByRole('link', { name: 'web', exact: true }).click();
    await page.locator('.tree').getByText('ReplicaSet').waitFor();
    await page.keyboard.press('t');
    await page.getByRole('slider').waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.locator('.lane').filter({ hasText: 'Deployment web' }).waitFor();
    expect(refused).toEqual([]);
  });

  it('offers administrators everything', async () => {
    const page = await browser.open(`${server.cluster.url}/ui/object/deployments.apps/default/web`);
    for (const name of ['Scale', 'Restart', 'Roll back', 'Delete'])
      await page.getByRole('button', { name }).waitFor();
    await page.goto(`${server.cluster.url}/ui/list/pods?ns=default`);
    await page.getByRole('button', { name: 'Run a pod' }).click();
    await expect.poll(() => page.getByRole('textbox', { name: 'Command' }).inputValue()).toBe('sleep 3600');
  });
});
