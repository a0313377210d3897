/** Proves the order in which a finished pod leaves: volumes, last status, deletion, removal, each once. */
import { describe, expect, it } from 'vitest';
import { notFound, unavailable } from '../../api/errors/errors.ts';
import type { Pod } from '../../api/generated/types.ts';
import { KindTable } from '../../api/kinds/kinds.ts';
import type { Client } from '../../client/client.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { PodDeparture } from './pod-departure.ts';
import { emptySetup } from './pod-setup.ts';
import type { StatusWriter } from './status-writer.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A finished pod, and a record of what is done to it. */
function leaving(deletions: (Error | Promise<Error> | undefined)[] = [undefined]) {
  const done: string[] = [];
  const errors: string[] = [];
  const state = { gone: false, deletionTimestamp: undefined as string | undefined };
  let closeSetup!: (error?: Error) => void;
  const setupClosed = new Promise<void>((resolve, reject) => {
    closeSetup = (error) => (error ? reject(error) : resolve());
  });
  const departure: PodDeparture = new PodDeparture({
    client: {
      delete: async () => {
        done.push('delete');
        const failure = await deletions.shift();
        if (failure) throw failure;
      },
    } as unknown as Client,
    runtime: { removePod: async () => void done.push('remove') } as unknown as Runtime,
    writer: {
      settled: async () => void done.push('settle'),
      forget: () => done.push('forget'),
    } as unknown as StatusWriter,
    setup: {
      ...emptySetup,
      close: () => {
        done.push('close volumes');
        return setupClosed;
      },
    },
    pod: (): Pod => ({
      metadata: { name: 'p', namespace: 'default', uid: 'u', deletionTimestamp: state.deletionTimestamp },
    }),
    gone: () => state.gone,
    again: () => done.push('again'),
    removed: () => done.push('removed'),
    onError: (error) => errors.push(error.message),
  });
  return { departure, done, errors, state, closeSetup };
}

describe('a pod that is over', () => {
  it('lets go of its volumes and stays, until it is to be deleted', async () => {
    const { departure, done, state, closeSetup } = leaving();
    departure.goOn();
    departure.goOn();
    closeSetup();
    await turn();
    expect(done).toEqual(['close volumes']);
    state.deletionTimestamp = '2020-01-01T00:00:00Z';
    departure.goOn();
    departure.goOn();
    await turn();
    expect(done).toEqual(['close volumes', 'settle', 'delete']);
    expect(departure.deleted).toBe(true);
    state.gone = true;
    departure.goOn();
    departure.goOn();
    await turn();
    expect(done.slice(3)).toEqual(['remove', 'forget', 'removed']);
  });

  it('reports no deletion that failed because the agent was closed meanwhile', async () => {
    let cutOff!: (error: Error) => void;
    const answer = new Promise<Error>((resolve) => {
      cutOff = resolve;
    });
    const { departure, done, errors, state, closeSetup } = leaving([answer]);
    closeSetup();
    state.deletionTimestamp = '2020-01-01T00:00:00Z';
    departure.goOn();
    await turn();
    await departure.close();
    cutOff(new Error('socket hang up'));
    await turn();
    expect({ done, errors }).toEqual({ done: ['close volumes', 'settle', 'delete'], errors: [] });
  });

  it('is deleted again when that failed, and not when it was gone already', async () => {
    const pods = new KindTable().resource('v1', 'pods')!;
    const { departure, done, errors, state, closeSetup } = leaving([
      unavailable('later'),
      notFound(pods, 'p'),
    ]);
    closeSetup();
    state.deletionTimestamp = '2020-01-01T00:00:00Z';
    departure.goOn();
    await turn();
    expect({ done, errors }).toEqual({
      done: ['close volumes', 'settle', 'delete', 'again'],
      errors: ['later'],
    });
    expect(departure.deleted).toBe(false);
    departure.goOn();
    await turn();
    expect(done.slice(4)).toEqual(['settle', 'delete']);
    expect(departure.deleted).toBe(true);
  });

  it('is not deleted while its volumes are closed, nor at all when it is gone by then', async () => {
    const { departure, done, state, closeSetup } = leaving();
    state.deletionTimestamp = '2020-01-01T00:00:00Z';
    departure.goOn();
    await turn();
    expect(done).toEqual(['close volumes']);
    state.gone = true;
    departure.goOn();
    closeSetup();
    await turn();
    expect(done).toEqual(['close volumes', 'settle', 'remove', 'forget', 'removed']);
  });

  it('goes on when its volumes could not be closed, and tells that once', async () => {
    const { departure, errors, done, state, closeSetup } = leaving();
    state.deletionTimestamp = '2020-01-01T00:00:00Z';
    departure.goOn();
    closeSetup(new Error('busy'));
    await turn();
    expect(done).toContain('delete');
    expect(errors).toEqual(['busy']);
  });

  it('is left as it is when its worker closes, which waits for the volumes', async () => {
    const { departure, done, state, closeSetup } = leaving();
    state.gone = true;
    departure.goOn();
    let closed = false;
    const closing = departure.close().then(() => {
      closed = true;
    });
    await turn();
    expect(closed).toBe(false);
    closeSetup();
    await closing;
    await turn();
    expect(done).not.toContain('removed');
    departure.goOn();
    expect(done.filter((step) => step === 'close volumes')).toHaveLength(1);
  });
});
