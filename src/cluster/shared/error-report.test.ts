/**
 * Proves that the loss of a store is reported once, and not again with everything that fails because of
 * it, and that clients cannot fill the log by causing failures.
 */
import { beforeEach, expect, it } from 'vitest';
import { ErrorReport } from './error-report.ts';

const cause = new Error('the store is closed');
const loss = new Error('the server no longer knows what its store holds: the store is closed', { cause });

let errors: string[];
let fatal: string[];
beforeEach(() => {
  errors = [];
  fatal = [];
});
const report = (): ErrorReport =>
  new ErrorReport(
    ({ message }) => errors.push(message),
    ({ message }) => fatal.push(message),
  );

it('a loss goes to the one who listens for it, and what follows from it to nobody', () => {
  const { tell, tellLoss } = report();
  tellLoss(loss);
  for (const error of [
    loss,
    cause,
    new Error(loss.message),
    new Error('a round failed', { cause: new Error(cause.message) }),
  ])
    tell(error);
  expect({ errors, fatal }).toEqual({ errors: [], fatal: [loss.message] });
});

it('what has other causes is told, also after a loss, and what fails before a loss is', () => {
  const { tell, tellLoss } = report();
  tell(cause);
  tellLoss(loss);
  const ring = new Error('a ring');
  ring.cause = ring;
  for (const error of [new Error('the disk is full', { cause: new Error('no room') }), ring]) tell(error);
  expect(errors).toEqual([cause.message, 'the disk is full', 'a ring']);
});

it('a loss goes where all errors go when nobody listens for it', () => {
  const { tellLoss } = new ErrorReport(({ message }) => errors.push(message));
  tellLoss(loss);
  expect(errors).toEqual([loss.message]);
  expect(() => new ErrorReport().tellLoss(loss)).not.toThrow();
});

it('the same failure is told once in ten seconds, then with the number of the others', () => {
  let nowMs = 0;
  const { tell } = new ErrorReport(
    ({ message }) => errors.push(message),
    undefined,
    () => nowMs,
  );
  for (let i = 0; i < 1_000; i++) tell(new Error('the webhook does not answer'));
  tell(new Error('the disk is full'));
  expect(errors.splice(0)).toEqual(['the webhook does not answer', 'the disk is full']);
  nowMs = 10_000;
  tell(new Error('the webhook does not answer'));
  expect(errors.splice(0)).toEqual([
    'the webhook does not answer (999 times more)',
    'the webhook does not answer',
  ]);
});

it('failures of which each is another are bounded as well', () => {
  let nowMs = 0;
  const { tell } = new ErrorReport(
    ({ message }) => errors.push(message),
    undefined,
    () => nowMs,
  );
  for (let i = 0; i < 1_000; i++) tell(new Error(`the request ${i} failed`));
  expect(errors).toHaveLength(50);
  nowMs = 10_000;
  tell(new Error('the last'));
  expect(errors.slice(50)).toEqual(['950 other failures were not reported', 'the last']);
});
