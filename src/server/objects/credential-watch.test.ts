/** Proves that what lasts ends when its credential does, asked about once for all that came with it. */
import { describe, expect, it } from 'vitest';
import type { User } from '../../api/values/user.ts';
import type { RequestContext } from '../http/context.ts';
import { CredentialWatch } from './credential-watch.ts';

const user: User = { name: 'a', groups: [] };
const never = 2 ** 30;

const contextOf = (identifyAgain: (() => User) | undefined, of = user): RequestContext =>
  ({ user: of, identifyAgain }) as unknown as RequestContext;

describe('watched credentials', () => {
  it('end all that came with them', async () => {
    const watch = new CredentialWatch(never);
    const ended: string[] = [];
    let isGood = true;
    let asked = 0;
    const again = (): User => {
      asked++;
      if (!isGood) throw new Error('expired');
      return user;
    };
    const stops = ['one', 'two'].map((name) => watch.watch(contextOf(again), () => ended.push(name)));
    const other = watch.watch(
      contextOf(() => ({ ...user }), { name: 'a', groups: [] }),
      () => ended.push('other'),
    );
    await watch.check();
    expect({ ended, asked }).toEqual({ ended: [], asked: 1 });
    isGood = false;
    await watch.check();
    expect({ ended, asked }).toEqual({ ended: ['one', 'two'], asked: 2 });
    for (const stop of [...stops, other]) stop();
    await watch.check();
    expect(asked).toBe(2);
  });

  it("end when they are somebody else's", async () => {
    const watch = new CredentialWatch(never);
    let isEnded = false;
    const stop = watch.watch(
      contextOf(() => ({ name: 'system:anonymous', groups: [] })),
      () => {
        isEnded = true;
      },
    );
    await watch.check();
    stop();
    expect(isEnded).toBe(true);
  });

  it('are not asked about on doors without any', async () => {
    const watch = new CredentialWatch(never);
    let isEnded = false;
    watch.watch(contextOf(undefined), () => {
      isEnded = true;
    });
    await watch.check();
    expect(isEnded).toBe(false);
  });
});
