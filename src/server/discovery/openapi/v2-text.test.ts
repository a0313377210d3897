/** Proves that the document joined from texts of versions is the one made as a whole, whatever kinds come and go. */
import { gunzipSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
import { otherServiceKind, widgetKind } from '../../../api/kind/widget.fixture.ts';
import { KindTable } from '../../../api/kinds/kinds.ts';
import { Descriptions } from '../../../api/model/descriptions.ts';
import { givenInSlices } from '../../../time-slices.ts';
import { ApiDocument } from '../../http/document.ts';
import { Discovery } from '../discovery.ts';
import { type Operation, operationsOf } from './operations.ts';
import { documentV2 } from './v2.ts';
import { TextV2 } from './v2-text.ts';
import { documentV3 } from './v3.ts';

const kinds = new KindTable();
const discovery = new Discovery(kinds);
const descriptions = await Descriptions.load();
/** Versions whose operations were asked for. */
let described: string[] = [];
const operations = (apiVersion: string): Operation[] => {
  described.push(apiVersion);
  return operationsOf(discovery, kinds, apiVersion);
};
const texts = new TextV2(kinds, operations, undefined, 0);

async function compared(): Promise<ApiDocument> {
  const versions = discovery.served();
  described = [];
  const joined = (await texts.document(versions, descriptions))!;
  const all = new Map(versions.map((version) => [version, operationsOf(discovery, kinds, version)]));
  const whole = await givenInSlices(
    ApiDocument.jsonInSlices(await givenInSlices(documentV2(all, descriptions))),
  );
  expect(joined.bytes.equals(whole.bytes)).toBe(true);
  expect(joined.hash).toBe(whole.hash);
  expect(gunzipSync(await joined.gzipped()).equals(whole.bytes)).toBe(true);
  return joined;
}

it('works out few operations in one turn of the event loop', async () => {
  let turn = 0;
  const count = (): void => {
    turn++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  const perTurn = new Map<number, number>();
  const counted = (apiVersion: string): Operation[] => {
    const found = operationsOf(discovery, kinds, apiVersion);
    perTurn.set(turn, (perTurn.get(turn) ?? 0) + found.length);
    return found;
  };
  await new TextV2(kinds, counted, undefined, 0).document(discovery.served(), descriptions);
  clearImmediate(counting);
  const counts = [...perTurn.values()];
  const all = counts.reduce((sum, one) => sum + one, 0);
  // The core group alone has a third of them.
  expect(Math.max(...counts)).toBeLessThan(all / 2);
  expect(counts.length).toBeGreaterThan(4);
});

it('is the same, and describes only versions that have changed', async () => {
  const first = await compared();
  expect(described).toEqual(discovery.served());
  const kind = widgetKind();
  await kinds.add(kind);
  const second = await compared();
  expect(described).toEqual([kind.apiVersion]);
  expect(second.bytes.length).toBeGreaterThan(first.bytes.length);
  // Texts are parts of the document before; several rounds show that none of them moves.
  await kinds.add(otherServiceKind());
  await compared();
  await kinds.remove(kind);
  await compared();
  expect(described).toEqual([]);
  await kinds.add(widgetKind());
  await compared();
});

it.each(['v2', 'v3'] as const)('describes one model between two pauses: %s', (dialect) => {
  const describing = vi.spyOn(Descriptions.prototype, 'model');
  const core = operationsOf(discovery, kinds, 'v1');
  const work =
    dialect === 'v2'
      ? documentV2(new Map([['v1', core]]), descriptions)
      : documentV3('v1', false, core, descriptions);
  let [all, most] = [0, 0];
  for (let step = work.next(); !step.done; step = work.next()) {
    const described = describing.mock.calls.length;
    most = Math.max(most, described);
    all += described;
    describing.mockClear();
  }
  describing.mockRestore();
  expect(all).toBeGreaterThan(200);
  expect(most).toBe(1);
});
