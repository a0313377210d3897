/**
 * Proves that objects are edited and created in the dashboard: with the server's errors at their lines, and without
 * losing another writer's change.
 */
import type { Page } from 'playwright-core';
import { beforeAll, expect, it, vi } from 'vitest';
import { describeWith } from '../support/tools.ts';
import { axeFindings, useBrowser, useBuiltCluster } from './browser.ts';
import { configMaps, deployment, deployments } from './workloads.ts';

/** Refusals that are part of a test. */
const refused = /status of 4(?:09|22)/;
const boats = '/apis/harbour.example/v1/namespaces/default/boats';

describeWith('chromium')('editing in the page', () => {
  const server = useBuiltCluster({ simulatedNodes: 0 });
  const browser = useBrowser();
  const open = (path: string) => browser.open(`${server.cluster.url}/ui/${path}`, {}, refused);

  beforeAll(async () => {
    const schema = {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          required: ['length'],
          properties: {
            length: { type: 'integer', minimum: 1, description: 'Length in metres.' },
            colour: { type: 'string', enum: ['red', 'blue'] },
          },
        },
      },
    };
    await server.client.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'boats.harbour.example' },
      spec: {
        group: 'harbour.example',
        scope: 'Namespaced',
        names: { plural: 'boats', singular: 'boat', kind: 'Boat' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    });
    await vi.waitFor(async () => expect((await server.client.get(boats)).status).toBe(200), {
      timeout: 60_000,
    });
  });

  /** Replaces the end of a line. */
  const rewrite = async (page: Page, line: string, length: number, text: string): Promise<void> => {
    await page.locator('.cm-line', { hasText: line }).first().click();
    await page.keyboard.press('End');
    for (let i = 0; i < length; i++) await page.keyboard.press('Backspace');
    await page.keyboard.type(text);
    await page.keyboard.press('Escape');
  };

  const paste = (page: Page, text: string): Promise<void> =>
    page.locator('.cm-content').evaluate((content, pasted) => {
      const { DataTransfer, ClipboardEvent } = globalThis as any;
      const clipboardData = new DataTransfer();
      clipboardData.setData('text/plain', pasted);
      content.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
    }, text);

  it('shows what is wrong at its line, then what would change, and applies it', async () => {
    await server.client.post(deployments, deployment('shop', 1));
    const page = await open('list/deployments.apps');
    await page.locator('tr[data-name=shop]').waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('e');
    await page.locator('.cm-owners .owners').first().waitFor();
    await rewrite(page, 'replicas:', 1, '-1');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('see the marked lines').waitFor();
    await expect.poll(() => page.locator('.cm-lintRange-error').allTextContents()).toEqual(['replicas: -1']);
    expect(await axeFindings(page)).toEqual([]);
    await rewrite(page, 'replicas:', 2, '2');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await expect.poll(() => page.locator('.diff .added').allTextContents()).toEqual(['+   replicas: 2\n']);
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('tab', { name: 'YAML', selected: true }).waitFor();
    expect((await server.client.get(`${deployments}/shop`)).body.spec.replicas).toBe(2);
  });

  it('merges a change of another writer, and asks where both changed the same', async () => {
    await server.client.post(configMaps, {
      metadata: { name: 'settings' },
      data: { a: 'one', b: 'one', c: 'one' },
    });
    const page = await open('object/configmaps/default/settings?tab=edit');
    await page.locator('.cm-line', { hasText: 'a: one' }).waitFor();
    await rewrite(page, 'a: one', 3, 'mine');
    await server.client.patch(`${configMaps}/settings`, { data: { a: 'theirs', c: 'theirs' } });
    await page.getByText('The object has changed since you began').waitFor();
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('Another writer changed the object').waitFor();
    const resume = page.getByRole('button', { name: 'Continue with the merged text' });
    expect(await resume.isDisabled()).toBe(true);
    expect(await axeFindings(page)).toEqual([]);
    await page.getByRole('radio', { name: 'Yours' }).check();
    await resume.click();
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByRole('button', { name: 'Apply' }).click();
    await page.getByRole('tab', { name: 'YAML', selected: true }).waitFor();
    const { body } = await server.client.get(`${configMaps}/settings`);
    expect(body.data).toEqual({ a: 'mine', b: 'one', c: 'theirs' });
  });

  it('creates an object of an own kind by a form', async () => {
    const page = await open('create/boats.harbour.example?by=form&ns=default');
    await page.getByLabel('name required').fill('skiff');
    await page.getByText('Length in metres.').waitFor();
    await page.getByLabel('length required').fill('0');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('.formfield .bad').waitFor();
    expect(await page.getByLabel('length required').getAttribute('aria-invalid')).toBe('true');
    expect(await axeFindings(page)).toEqual([]);
    await page.getByLabel('length required').fill('4');
    await page.getByLabel('Add a field to spec').selectOption('colour');
    await page.getByLabel('colour', { exact: true }).selectOption('red');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.getByText('The server would accept this.').waitFor();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { name: 'skiff' }).waitFor();
    expect((await server.client.get(`${boats}/skiff`)).body.spec).toEqual({ length: 4, colour: 'red' });
  });

  it('shows in the form what was typed as YAML, and leaves alone what the form does not show', async () => {
    const page = await open('create/configmaps?ns=default');
    await page.locator('.cm-line', { hasText: 'metadata:' }).waitFor();
    await page.locator('.cm-content').focus();
    await page.keyboard.press('Control+a');
    await paste(
      page,
      'apiVersion: v1 # typed\nkind: ConfigMap\nmetadata:\n  name: typed\n  namespace: default\nimmutable: yes\n' +
        'data:\n  empty: ""\n  number: "1"\n  lines: |\n    one\n    two\nunknown:\n- kept: 0\n',
    );
    await page.getByRole('tab', { name: 'Form' }).click();
    expect(await page.getByLabel('name required').inputValue()).toBe('typed');
    expect(await page.getByLabel('number', { exact: true }).inputValue()).toBe('1');
    expect(await page.getByLabel('immutable', { exact: true }).inputValue()).toBe('true');
    await page.getByText('without its comments').waitFor();
    await page.getByLabel('name required').fill('changed');
    await page.getByRole('tab', { name: 'YAML' }).click();
    await expect
      .poll(() => page.locator('.cm-line').allTextContents())
      .toEqual([
        'apiVersion: v1',
        'kind: ConfigMap',
        ...['metadata:', '  name: changed', '  namespace: default'],
        'immutable: true',
        ...['data:', '  empty: ""', '  number: "1"', '  lines: |', '    one', '    two'],
        ...['unknown:', '- kept: 0', ''],
      ]);
    await rewrite(page, 'unknown:', 0, ' *alias');
    await page.getByRole('tab', { name: 'Form' }).click();
    await page.getByText('The form cannot show this text').waitFor();
  });

  it('offers fields with their documentation while YAML is typed, and finds text in it', async () => {
    const page = await open('create/boats.harbour.example?ns=default');
    await page.locator('.cm-line', { hasText: 'length:' }).click();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('col');
    await page.locator('.cm-tooltip-autocomplete').getByText('colour').click();
    await page.locator('.cm-line', { hasText: 'colour:' }).waitFor();
    await page.keyboard.press('Control+f');
    await page.locator('.cm-search input[name=search]:focus').waitFor();
    await page.keyboard.type('leng');
    await expect.poll(() => page.locator('.cm-searchMatch').allTextContents()).toEqual(['leng']);
    expect(await axeFindings(page)).toEqual([]);
  });

  it('keeps hostile YAML text', async () => {
    const evil = '"><img src=x onerror=alert(1)><script>alert(2)</script>{{x}}\u202e';
    await server.client.post(configMaps, {
      metadata: { name: 'evil', annotations: { evil } },
      data: { evil, second: 'no: [' },
    });
    const page = await open('object/configmaps/default/evil?tab=yaml');
    page.on('dialog', () => expect.fail('text was run'));
    await page.locator('.cm-line', { hasText: 'onerror' }).first().waitFor();
    expect(await page.locator('.cm-content img, .cm-content script').count()).toBe(0);
    await page.getByRole('button', { name: 'Edit' }).click();
    await rewrite(page, 'name: evil', 0, ' # seen');
    await rewrite(page, 'second:', 0, ' # a comment');
    await page.getByRole('button', { name: 'Review changes' }).click();
    await page.getByText('Nothing that people wrote has changed.').waitFor();
  });
});
