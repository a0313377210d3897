/**
 * Proves what first screens, history, events, creating and snapshots show, by keys, on narrow screens and to a screen
 * reader, in both themes. No controller and no agent runs, so states stay as they are written.
 */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { KindSchema } from '../../web/core/schema.ts';
import { hasExample, templateOf } from '../../web/views/create/templates.ts';
import { isRelease } from '../support/tier.ts';
import { describeWith } from '../support/tools.ts';
import {
  axeFindings,
  follow,
  keyFindings,
  noteClicks,
  tabFindings,
  useBrowser,
  useBuiltCluster,
} from './browser.ts';
import { writeTroubles } from './screens.ts';
import { deployment, deployments } from './workloads.ts';

const objects = [
  ['pods/default/shop-2-c', 'CrashLoopBackOff'],
  ['deployments.apps/default/shop', 'Rolling out'],
  ['replicasets.apps/default/shop-2', '0 of 1'],
  ['replicasets.apps/default/shop-1', 'All pods are ready'],
  ['nodes/-/silent', 'MemoryPressure: memory is short'],
  ['services/default/shop', '1 of 2 ready'],
  ['ingresses.networking.k8s.io/default/shop-door', 'shop.example/ → shop:80'],
  ['cronjobs.batch/default/report', 'Next runs'],
  ['jobs.batch/default/report-2', 'Failed'],
  ['persistentvolumeclaims/default/data', 'storageclass "quick" not found'],
  ['resourcequotas/default/few', '0 of 3'],
  ['validatingwebhookconfigurations.admissionregistration.k8s.io/-/policy', 'when it fails: Ignore'],
  ['configmaps/default/settings', 'level'],
  ['secrets/default/login', 'word'],
  ['boats.harbour.example/default/ark', 'Not ready'],
  ['horizontalpodautoscalers.autoscaling/default/shop-scaler', '1 to 5'],
  ['poddisruptionbudgets.policy/default/shop-budget', 'disruptionsAllowed'],
] as const;

/** All views: the address, and what they show when they are there. */
const views = [
  ['', 'Problems'],
  ['problems', 'shop-2-b'],
  ['timeline?ns=default', 'Deployment shop'],
  ['snapshots', 'Save a snapshot'],
  ['list/pods?ns=default', 'shop-1-a'],
  ['list/pods', 'unconfigured-5c584d5455-64jmx'],
  ['list/persistentvolumeclaims', 'data'],
  ['list/events', 'BackOff'],
  ['create/deployments.apps?ns=default', 'Check'],
  ['create/boats.harbour.example?ns=default&by=form', 'length'],
  ...objects.map(([path, text]) => [`object/${path}`, text] as const),
  ['object/deployments.apps/default/shop?tab=yaml', 'apiVersion'],
  ['object/deployments.apps/default/shop?tab=edit', 'Review changes'],
  ['object/deployments.apps/default/shop?tab=history', 'What did I change?'],
  ['object/deployments.apps/default/shop?tab=logs', 'lines'],
  ['object/pods/default/shop-2-c?tab=history', 'What did I change?'],
] as const;

/** The texts of rows whose values are beside their names, not below them. */
const rowsOnOneLine = (rows: any[]): string[] =>
  rows
    .filter((row) => {
      const [name, ...others] = [...row.querySelectorAll('td:not(.pick)')].map((cell) =>
        cell.getBoundingClientRect(),
      );
      return !others.some(({ top }) => top >= name.bottom - 4);
    })
    .map((row) => row.innerText);

/** What a card has no room for: names that are cut, and what lies outside of it. */
const spilt = (rows: any[]): string[] =>
  rows.flatMap((row) => {
    const { top, bottom } = row.getBoundingClientRect();
    return [...row.querySelectorAll('td:not(.pick)')]
      .filter((cell) => {
        if (!cell.checkVisibility()) return false;
        const box = cell.getBoundingClientRect();
        const isOutside = box.top < top - 1 || box.bottom > bottom + 1;
        return isOutside || (cell.matches('.first') && cell.scrollWidth > cell.clientWidth);
      })
      .map((cell) => cell.innerText);
  });

/** Those that are walked by Tab, and what comes last of some: what comes during the walk would not be reached. */
const walked = new Map<string, string | undefined>([
  ['', undefined],
  ['problems', undefined],
  ['list/pods?ns=default', undefined],
  ['create/deployments.apps?ns=default', undefined],
  ['object/pods/default/shop-2-c', undefined],
  ['object/deployments.apps/default/shop', 'what changed before'],
  ['object/deployments.apps/default/shop?tab=history', undefined],
]);

/** What discovery offers, each group in the version that the dashboard takes. */
async function discovered(url: string) {
  const Accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  const answers = await Promise.all(
    ['/api', '/apis'].map(async (path) => (await fetch(url + path, { headers: { Accept } })).json() as any),
  );
  return answers
    .flatMap(({ items }) => items)
    .map(({ metadata, versions: [{ version, resources }] }: any) => ({
      group: metadata.name ?? '',
      version,
      resources,
    }));
}

describeWith('chromium')('the dashboard', () => {
  const server = useBuiltCluster({ simulatedNodes: 0, controllers: false });
  const browser = useBrowser();
  const open = (path: string, options = {}) =>
    browser.open(`${server.cluster.url}/ui/${path}`, options, /404|400|50\d/);

  beforeAll(() => writeTroubles(server.client));

  const shows = (page: Page, text: string) => page.locator('main').getByText(text).first().waitFor();

  it('shows of a workload old and new side by side, its pods with problems first, and what belongs to it', async () => {
    const page = await open('object/deployments.apps/default/shop');
    const sides = page.locator('.sides > div');
    await expect.poll(() => sides.count()).toBe(2);
    expect(await sides.first().innerText()).toMatch(/New: revision 2\s+shop:2\s+Ready\s+0 of 1/);
    expect(await sides.last().innerText()).toMatch(/Old: revision 1\s+shop:1\s+Ready\s+2 of 2/);
    const states = await page.locator('.podtable tbody td:nth-child(2)').allTextContents();
    expect(states.slice(0, 2).toSorted()).toEqual(['CrashLoopBackOff', 'ImagePullBackOff']);
    expect(states[2]).toBe('Running');
    const wrong = page.locator('section').filter({ hasText: 'What is wrong' });
    await wrong.getByText('cannot be pulled').waitFor();
    const related = page.locator('.related');
    await related.filter({ hasText: 'Services' }).getByText('1 of 2 endpoints ready').waitFor();
    await related.filter({ hasText: 'Ingress' }).getByRole('link', { name: 'shop-door' }).waitFor();
    await related.filter({ hasText: 'shop-scaler' }).getByText('from 1 to 5').waitFor();
    await related.filter({ hasText: 'shop-budget' }).getByText('evictions allowed: 1').waitFor();
    const titles = await page.locator('main h2').allTextContents();
    expect(titles.indexOf('Events')).toBeLessThan(titles.indexOf('Owned by, and owns'));
    await related.filter({ hasText: 'Ingress' }).getByRole('link', { name: 'shop-door' }).click();
    await related.filter({ hasText: 'Services' }).getByText('1 of 2 endpoints ready').waitFor();
    await follow(page, '/ui/object/services/default/shop');
    const endpoints = page.locator('.plainlist .badge');
    await expect.poll(() => endpoints.allTextContents()).toEqual(['not ready', 'ready']);
  });

  it('shows when a cron job runs next and how it ran, why a claim waits, and conditions of own kinds first', async () => {
    const page = await open('object/cronjobs.batch/default/report');
    const times = page.locator('.nextruns time');
    await expect.poll(() => times.count()).toBe(5);
    const firsts = await times.evaluateAll((list) =>
      list.map((each: any) => new Date(each.dateTime).getMonth()),
    );
    expect(firsts).toEqual([0, 0, 0, 0, 0]);
    const runs = page.locator('section', { hasText: 'Runs' }).locator('tbody tr');
    await expect.poll(() => runs.count()).toBe(2);
    expect(await runs.first().innerText()).toMatch(/report-2\s+BackoffLimitExceeded/);
    expect(await runs.last().innerText()).toMatch(/report-1\s+Complete\s+15m\s+60s/);
    await page.goto(`${server.cluster.url}/ui/object/persistentvolumeclaims/default/data`);
    await page.locator('.podstate').getByText('storageclass "quick" not found').waitFor();
    const cutNames = await page
      .locator('nav a')
      .evaluateAll((links) => links.filter((each) => each.scrollWidth > each.clientWidth).length);
    expect(cutNames).toBe(0);
    await page.goto(`${server.cluster.url}/ui/object/boats.harbour.example/default/ark`);
    await shows(page, 'water comes in');
    expect(await page.locator('main h2').first().textContent()).toBe('Conditions');
    expect(await page.locator('.conditions .badge').allTextContents()).toEqual([
      'Not ready',
      'Not sailing',
      'Painted',
    ]);
    const badges = page.locator('.conditions .badge');
    const tones = await badges.evaluateAll((list) => list.map(({ className }: any) => className.trim()));
    expect(tones).toEqual(['badge bad', 'badge', 'badge good']);
    await page
      .getByText(/Last transition \d+[ms]/)
      .first()
      .waitFor();
    await page.goto(`${server.cluster.url}/ui/object/nodes/-/silent`);
    expect(await page.locator('.conditions .badge').first().textContent()).toBe('Memory pressure');
    await page.locator('.podtable').getByText('CrashLoopBackOff').waitFor();
    await page.getByText('1 image').click();
    await page
      .getByText('50 MB')
      .or(page.getByText('47.7 MiB'))
      .or(page.getByText(/shop:1 \d/))
      .first()
      .waitFor();
  });

  it('shows in the history of an object what was asked for, folds its status, and filters by writer', async () => {
    const page = await open('object/deployments.apps/default/shop?tab=history');
    await shows(page, 'status changed');
    const { client } = server;
    await client.patch(`${deployments}/shop?fieldManager=kubectl-edit`, { spec: { minReadySeconds: 7 } });
    for (const ready of [1, 0])
      await client.patch(`${deployments}/shop/status?fieldManager=kube-controller-manager`, {
        status: { readyReplicas: ready },
      });
    await client.patch(`${deployments}/shop?fieldManager=operator`, { spec: { revisionHistoryLimit: 4 } });
    const items = page.locator('.versions > li');
    await items.first().getByText('by operator').waitFor();
    await items
      .nth(1)
      .getByText(/status changed 2 times by .*kube-controller-manager/)
      .click();
    await items.nth(1).getByLabel('What changed').first().getByText('readyReplicas: 2').waitFor();
    await items.nth(2).getByText('minReadySeconds: 7').waitFor();
    await page.getByRole('button', { name: 'What did I change?' }).click();
    await items.first().getByText('by kubectl-edit').waitFor();
    expect(await page.locator('.versions').getByText('operator').count()).toBe(0);
    await page.getByLabel('Written by').selectOption('operator');
    await expect.poll(() => items.count()).toBe(1);
    expect(page.url()).toContain('writer=operator');
  });

  it('groups events, the latest first, and leads to their objects', async () => {
    const page = await open('list/events?ns=default');
    const groups = page.locator('.eventgroups > li');
    await expect.poll(() => groups.count()).toBe(3);
    const reasons = await groups.locator('.eventhead .badge').allTextContents();
    expect(reasons).toEqual(['ScalingReplicaSet', 'BackOff', 'ProvisioningFailed']);
    await groups.nth(1).getByText('6 times').waitFor();
    await page.getByRole('button', { name: 'Warnings alone' }).click();
    await expect.poll(() => groups.count()).toBe(2);
    await groups.first().getByText('all 2').click();
    await groups.first().getByRole('link', { name: 'shop-2-b' }).click();
    await page.getByRole('heading', { name: 'shop-2-b' }).waitFor();
    await page.goto(`${server.cluster.url}/ui/list/events?as=table`);
    await page.locator('tr[data-name=event-0]').waitFor();
  });

  it('creates from templates that the server accepts, for every kind', async () => {
    const { client } = server;
    const { paths } = (await client.get('/openapi/v3')).body;
    const schemas = async (group: string, version: string) => {
      const name = group ? `apis/${group}/${version}` : `api/${version}`;
      return (await client.get(paths[name].serverRelativeURL)).body.components.schemas;
    };
    const refused: string[] = [];
    let count = 0;
    for (const { group, version, resources } of await discovered(server.cluster.url)) {
      const known = await schemas(group, version);
      for (const { resource: name, responseKind, scope, verbs } of resources) {
        if (!verbs.includes('create') || !verbs.includes('list')) continue;
        const id = group ? `${name}.${group}` : name;
        const { kind } = responseKind;
        const root = Object.values<any>(known).find((schema) =>
          schema['x-kubernetes-group-version-kind']?.some(
            (each: any) => each.kind === kind && each.version === version && each.group === group,
          ),
        );
        const schema = root && new KindSchema(known, root);
        const namespaced = scope === 'Namespaced';
        const path = `/${group ? `apis/${group}` : 'api'}/${version}${namespaced ? '/namespaces/default' : ''}/${name}`;
        for (const wanted of hasExample({ id }) ? (['small', 'example'] as const) : (['small'] as const)) {
          const object = templateOf({ id, group, version, kind, namespaced }, 'default', schema, wanted);
          const { status, body } = await client.post(`${path}?dryRun=All&fieldValidation=Strict`, object);
          count++;
          if (status >= 300) refused.push(`${id} ${version}: ${body.message}`);
        }
      }
    }
    expect(refused).toEqual([]);
    expect(count).toBeGreaterThan(60);
  });

  it('begins with a template that passes its check, offers an example, and folds the command away', async () => {
    const page = await open('create/boats.harbour.example?ns=default');
    await page.locator('.cm-line', { hasText: 'length: 3' }).waitFor();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The server would accept this.').waitFor();
    await page.getByLabel('Kind', { exact: true }).selectOption('cronjobs.batch');
    await page.locator('.cm-line', { hasText: 'schedule:' }).waitFor();
    await page.getByLabel('Template').selectOption('example');
    await page.locator('.cm-line', { hasText: 'concurrencyPolicy: Forbid' }).waitFor();
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The server would accept this.').waitFor();
    const command = page.getByLabel('Command', { exact: true });
    expect(await command.isVisible()).toBe(false);
    await page.getByText('The same with kubectl').click();
    await command.waitFor();
  });

  it('saves, loads and deletes snapshots', async () => {
    const { client } = server;
    const maps = '/api/v1/namespaces/default/configmaps';
    const page = await open('snapshots');
    await page.getByRole('button', { name: 'Save a snapshot' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('wherry snapshot save clean').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /^clean/ }).waitFor();
    await client.post(maps, { metadata: { name: 'later' } });
    await page.getByRole('button', { name: 'Load clean' }).click();
    await dialog.getByText('Delete objects that were created since').waitFor();
    await dialog.getByRole('button', { name: 'Load' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await client.get(`${maps}/later`)).status).toBe(404);
    expect((await client.get(`${maps}/settings`)).status).toBe(200);
    await page.getByRole('button', { name: 'Delete clean' }).click();
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await shows(page, 'There are none yet.');
    expect((await client.get('/wherry/snapshots')).body.items).toEqual([]);
  });

  it('has names with their namespace wherever there may be others of the same name', async () => {
    const { client } = server;
    const made = async (path: string, body: object) =>
      expect((await client.post(path, body)).status, path).toBeLessThan(300);
    await made('/api/v1/namespaces', { metadata: { name: 'other' } });
    await made('/apis/apps/v1/namespaces/other/deployments', deployment('shop', 2));
    await made('/api/v1/namespaces/other/events', {
      metadata: { name: 'shop.1' },
      involvedObject: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'other', name: 'shop' },
      type: 'Warning',
      reason: 'Strange',
      message: 'nobody knows',
    });
    await made('/api/v1/persistentvolumes', {
      metadata: { name: 'disk' },
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        hostPath: { path: '/nowhere' },
        claimRef: { namespace: 'other', name: 'data' },
      },
    });
    const page = await open('');
    const link = (part: string, name: string) =>
      page.locator(part).getByRole('link', { name, exact: true }).first().waitFor();
    for (const namespace of ['default', 'other']) await link('.nodename', `${namespace}/shop`);
    await link('.events', 'other/shop');
    await page.keyboard.type(':shop');
    for (const namespace of ['default', 'other'])
      await page.getByRole('option', { name: `Deployment ${namespace}/shop` }).waitFor();
    for (const [path, part, ...names] of [
      ['timeline', '.lane', 'default/shop', 'other/shop'],
      ['timeline', '.news', 'other/shop'],
      ['list/events', '.eventgroups', 'default/shop', 'other/shop'],
      ['object/nodes/-/silent', '.podtable', 'default/shop-2-c'],
      ['object/persistentvolumes/-/disk', '.related', 'other/data'],
    ] as const) {
      await page.goto(`${server.cluster.url}/ui/${path}`);
      for (const name of names) await link(part, name);
    }
    await page.goto(`${server.cluster.url}/ui/timeline?ns=other`);
    await link('.lane', 'shop');
  });

  it.runIf(isRelease)('is walked by Tab in the order of reading, with all that can be clicked', async () => {
    const page = await open('', { viewport: { width: 1440, height: 900 } });
    await noteClicks(page);
    await page.reload();
    const findings: string[] = [];
    for (const [path, text] of views.filter(([path]) => walked.has(path))) {
      await follow(page, `/ui/${path}`);
      await shows(page, text);
      await shows(page, walked.get(path) ?? text);
      findings.push(...(await tabFindings(page)).map((each) => `${path} ${each}`));
    }
    expect(findings).toEqual([]);
  });

  it.runIf(isRelease)(
    'has nothing that axe finds or keys miss in any view, in light and in dark, and fits 390 pixels with the state in sight',
    async () => {
      const page = await open('', { viewport: { width: 390, height: 844 }, colorScheme: 'light' });
      await noteClicks(page);
      await page.reload();
      const findings: string[] = [];
      for (const [path, text] of views) {
        await follow(page, `/ui/${path}`);
        await page.locator('main h1').first().waitFor();
        await shows(page, text);
        const isFrameKnown = path !== views[0][0];
        findings.push(...(await axeFindings(page, isFrameKnown)).map((each) => `${path} ${each}`));
        if (await page.evaluate('document.documentElement.scrollWidth > innerWidth'))
          findings.push(`${path} is too wide`);
        const inner = await page.evaluate(
          "(() => { const v = document.querySelector('main'); return v.scrollWidth > v.clientWidth; })()",
        );
        if (inner) findings.push(`${path} scrolls sideways`);
        const cut = await page
          .locator('.rows td.state, .lanename')
          .evaluateAll((cells) =>
            cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
          );
        findings.push(...cut.map((state) => `${path} cuts ${state}`));
        const flat = await page.locator('.rows tr[data-name], .cards tbody tr').evaluateAll(rowsOnOneLine);
        findings.push(...flat.map((row) => `${path} has a row that is no card: ${row}`));
        const out = await page.locator('.rows tr[data-name]').evaluateAll(spilt);
        findings.push(...out.map((text) => `${path} has no room on a card for ${text}`));
        const labels = await page
          .locator('.facts dt')
          .evaluateAll((terms) =>
            terms.filter((term) => term.scrollWidth > term.clientWidth).map((term) => term.textContent),
          );
        findings.push(...labels.map((label) => `${path} has ${label} below its value`));
        for (const tab of await page.locator('[role=tab][aria-selected=true]').all()) {
          const { x, width } = (await tab.boundingBox())!;
          if (x + width > 390) findings.push(`${path} does not show its tab`);
        }
        const { y } = (await page.locator('main').getByText(text).first().boundingBox())!;
        if (path.startsWith('object/') && y > 800)
          findings.push(`${path} has its state out of sight, at ${y}`);
        findings.push(...(await keyFindings(page, isFrameKnown)).map((each) => `${path} ${each}`));
      }
      expect(findings).toEqual([]);
    },
  );
});
