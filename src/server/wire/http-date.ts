/** The current time as an HTTP date, made once a second. */
import { wallClock } from '../../clock.ts';
import { LastMemo } from '../../memo.ts';

const text = new LastMemo((second: number) => new Date(second * 1000).toUTCString());

export const httpDate = (): string => text.of(Math.floor(wallClock() / 1000));
