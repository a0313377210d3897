/**
 * Shares the event loop among all long work: computations, and answers that are made or sent part by part. Together they
 * take one slice of each turn, so that other requests are answered in between. Short computations never wait.
 */

/**
 * Cost of the computations, in evaluation steps, that run in one turn of the event loop before others wait; about 2 ms:
 * a request of another client takes one or two, and waits for several turns.
 */
const sliceCostMax = 50_000;
/** A turn with less cost than this does not need a timer. */
const negligibleCost = 10_000;

let spent = 0;

type GoOn = () => void;
/** What waits for a later turn: first come, first served, and a computation and an answer by turns. */
const waiting = { computations: [] as GoOn[], answers: [] as GoOn[] };
let isAwaited = false;
let wasComputation = false;
let hasYielded = false;
let haveRequestsArrived = false;
let begunMs: number | undefined;

/**
 * Call when requests were read that will be handled in this turn: long work lets them go first, every second time. It
 * has waited for this turn longer, and would run before them.
 */
export function yieldToRequests(): void {
  haveRequestsArrived = true;
}

function endTurn(): void {
  begunMs = undefined;
}

/** When the first of the answers that are made in this turn began. */
export function answersBegunMs(): number {
  if (begunMs === undefined) {
    begunMs = performance.now();
    setImmediate(endTurn);
  }
  return begunMs;
}

/** A promise to await before more is computed; undefined when the turn has time left. */
export function turnToCompute(): Promise<void> | undefined {
  return waiting.computations.length === 0 && spent < sliceCostMax
    ? undefined
    : laterTurn(waiting.computations);
}

/** Resolves when an answer that is made or sent part by part may go on: in a turn of the event loop that it has alone. */
export const turnToAnswer = (): Promise<void> => laterTurn(waiting.answers);

function laterTurn(queue: GoOn[]): Promise<void> {
  return new Promise((resolve) => {
    queue.push(resolve);
    if (isAwaited) return;
    isAwaited = true;
    setImmediate(goOn);
  });
}

function goOn(): void {
  hasYielded = haveRequestsArrived && !hasYielded;
  haveRequestsArrived = false;
  if (hasYielded) return void setImmediate(goOn);
  const { computations, answers } = waiting;
  wasComputation = answers.length === 0 || (computations.length > 0 && !wasComputation);
  const next = (wasComputation ? computations : answers).shift()!;
  isAwaited = computations.length + answers.length > 0;
  if (isAwaited) setImmediate(goOn);
  spent = 0;
  begunMs = undefined;
  next();
}

/** Approximate number of steps that a pass over one byte of an object's text costs. */
const byteSteps = 2;

const longBytes = 64 * 1024;

/** Whether one pass over a text or an object of so many bytes takes a large part of a turn of the event loop. */
export const isLong = (bytes: number): boolean => bytes > longBytes;

/**
 * Call after a pass over an object: returns a promise to await before the next pass, or undefined when the object is so
 * small that several passes fit into a turn of the event loop.
 */
export function afterPass(bytes: number): Promise<void> | undefined {
  const steps = bytes * byteSteps;
  if (steps < negligibleCost) return undefined;
  computed(steps);
  return turnToCompute();
}

/**
 * Runs the next pass over an object of so many bytes, after other work if it is long. Changes of short objects, which
 * are most, cost less as functions than as a generator.
 */
export function nextPass<T>(bytes: number, pass: () => T | Promise<T>): T | Promise<T> {
  const turn = afterPass(bytes);
  return turn ? turn.then(pass) : pass();
}

/** Adds a pause after each pass over an object of this many bytes. */
function* inPasses<T>(work: Generator<void, T>, bytes: number): Generator<number, T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    yield bytes * byteSteps;
  }
}

/**
 * Runs work that yields after each pass over an object. Returns its result at once, unless the object is so large that
 * other work runs between passes.
 */
export function givenInPasses<T>(work: Generator<void, T>, bytes: number): T | Promise<T> {
  return bytes * byteSteps >= negligibleCost ? givenInSlices(inPasses(work, bytes)) : givenAtOnce(work);
}

/** Runs such work without a pause, and returns its result. */
export function givenAtOnce<T>(work: Generator<unknown, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

/** Runs work in slices and returns its result; a promise when it is not done at once. */
export function givenInSlices<T>(work: Generator<number, T>): T | Promise<T> {
  let result: T;
  const all = function* (): Generator<number, void> {
    result = yield* work;
  };
  const rest = inSlices(all());
  return rest ? rest.then(() => result) : result!;
}

/** Runs work that reports with each `yield` how many steps it has taken; undefined when it is done at once. */
export function inSlices(work: Generator<number, void>): Promise<void> | undefined {
  const turn = turnToCompute() ?? advanced(work);
  return turn && finished(work, turn);
}

async function finished(work: Generator<number, void>, turn: Promise<void>): Promise<void> {
  for (let next: Promise<void> | undefined = turn; next; next = advanced(work)) await next;
}

/** Goes on until the slice is used up; undefined when the work is done. */
function advanced(work: Generator<number, void>): Promise<void> | undefined {
  let steps = 0;
  for (let next = work.next(); !next.done; next = work.next()) {
    steps += next.value;
    if (steps < negligibleCost) continue;
    computed(steps);
    steps = 0;
    const turn = turnToCompute();
    if (turn) return turn;
  }
  return undefined;
}

/** Records how many steps a computation has taken. */
export function computed(steps: number): void {
  if (steps < negligibleCost) return;
  if (spent === 0)
    setImmediate(() => {
      spent = 0;
    });
  spent += steps;
}
