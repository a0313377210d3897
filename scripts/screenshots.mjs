/**
 * Makes the pictures of the page in `docs/images/`: a small shop on simulated nodes, with a rollout under way. Needs a build
 * (`node scripts/build.mjs`) and Chromium. `node scripts/screenshots.mjs narrow-pods` makes those of that name alone.
 */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { launchChromium } from './chromium.mjs';

process.chdir(path.dirname(import.meta.dirname));
const { start } = await import('../dist/index.js');
const folder = 'docs/images';
mkdirSync(folder, { recursive: true });

const template = (app, image) => ({
  metadata: { labels: { app } },
  spec: { containers: [{ name: app, image, resources: { requests: { cpu: '250m', memory: '256Mi' } } }] },
});
const deployment = (app, replicas) => ({
  metadata: { name: app, labels: { app } },
  spec: { replicas, selector: { matchLabels: { app } }, template: template(app, `shop/${app}:1.4`) },
});

async function fill(url) {
  const send = async (method, place, body, type = 'application/json') => {
    const answer = await fetch(`${url}${place}`, {
      method,
      headers: { 'Content-Type': type },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(await answer.text());
  };
  const apps = '/apis/apps/v1/namespaces/shop';
  await send('POST', '/api/v1/namespaces', { metadata: { name: 'shop' } });
  for (const [app, replicas] of [
    ['web', 6],
    ['cart', 3],
    ['search', 4],
    ['mail', 1],
  ]) {
    await send('POST', `${apps}/deployments`, deployment(app, replicas));
    await send('POST', '/api/v1/namespaces/shop/services', {
      metadata: { name: app },
      spec: { selector: { app }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    });
  }
  const selector = { matchLabels: { app: 'orders-db' } };
  const spec = {
    serviceName: 'orders-db',
    replicas: 3,
    selector,
    template: template('orders-db', 'postgres:17'),
  };
  await send('POST', `${apps}/statefulsets`, { metadata: { name: 'orders-db' }, spec });
  await pause(3_000);
  await send(
    'PATCH',
    `${apps}/deployments/web`,
    { spec: { template: template('web', 'shop/web:1.5') } },
    'application/merge-patch+json',
  );
  await pause(4_000);
  await send('PATCH', `${apps}/deployments/cart`, { spec: { replicas: 5 } }, 'application/merge-patch+json');
  await send('POST', `${apps}/deployments`, {
    ...deployment('reports', 2),
    spec: {
      ...deployment('reports', 2).spec,
      template: {
        ...template('reports', 'shop/reports:2'),
        spec: { ...template('reports', 'shop/reports:2').spec, nodeSelector: { disk: 'fast' } },
      },
    },
  });
  await pause(3_000);
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const pictures = [
  { name: 'overview', path: '/', waitMs: 16_000 },
  { name: 'pods', path: '/ui/list/pods?ns=shop' },
  { name: 'deployment', path: '/ui/object/deployments.apps/shop/web' },
  { name: 'yaml', path: '/ui/object/deployments.apps/shop/web?tab=yaml' },
  { name: 'versions', path: '/ui/object/deployments.apps/shop/web?tab=history' },
  { name: 'timeline', path: '/ui/timeline?ns=shop' },
  { name: 'past', path: '/ui/list/pods?ns=shop', past: true },
  { name: 'narrow', path: '/', waitMs: 12_000, width: 400 },
  { name: 'narrow-pods', path: '/ui/list/pods?ns=shop', width: 400 },
];

const cluster = await start({ simulatedNodes: 3 });
const browser = await launchChromium();
try {
  await cluster.nodesReady;
  await fill(cluster.url);
  const named = process.argv.slice(2);
  const wanted = pictures.filter(({ name }) => named.length === 0 || named.includes(name));
  for (const { name, path: place, waitMs = 5_000, width = 1280, past } of wanted)
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.newPage({ viewport: { width, height: 760 }, colorScheme });
      await page.goto(`${cluster.url}${place}`);
      await pause(waitMs);
      if (past) {
        await page.keyboard.press('t');
        await pause(2_000);
        for (let i = 0; i < 40; i++) await page.keyboard.press('[');
        await pause(1_500);
      }
      await page.screenshot({ path: `${folder}/dashboard-${name}-${colorScheme}.png` });
      await page.close();
    }
} finally {
  await browser.close();
  await cluster.close();
}
