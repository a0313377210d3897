/** Proves that few connections are closed in one turn of the event loop. */
import { expect, it } from 'vitest';
import { Endings } from './endings.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('a few connections are closed in each turn, the first at once', async () => {
  const endings = new Endings();
  let closed = 0;
  for (let i = 0; i < 40; i++) endings.add(() => closed++);
  const counts = [closed];
  for (let i = 0; i < 3; i++) {
    await turn();
    counts.push(closed);
  }
  expect(counts).toEqual([16, 32, 40, 40]);
  endings.add(() => closed++);
  expect(closed).toBe(41);
});

it('those that come while others wait are closed after them', async () => {
  const endings = new Endings();
  const closed: string[] = [];
  for (let i = 0; i < 30; i++) endings.add(() => closed.push('first'));
  await turn();
  for (let i = 0; i < 5; i++) endings.add(() => closed.push('second'));
  expect(closed.length).toBe(32);
  await turn();
  expect(closed.length).toBe(35);
});
