/**
 * Checks the page trees of LMDB's data file before LMDB maps it.
 *
 * LMDB does not check page numbers and offsets: one wrong bit can crash the process, hide keys, or reuse a page that
 * is in use. Here every page of every tree is read once and checked against its parent: it must be in the file, used
 * once, and of the right kind and depth. Its nodes must lie inside it without gaps, and its keys in order between
 * those of the parent. Totals must match the tree's own record, and no used page may be on the list of free pages.
 * Values are not checked here: each has its own checksum (`record.ts`).
 *
 *     page    number 8, txnid 8, pad 2, flags 2, lower 2, upper 2 (or pages 4), then offsets of nodes, 2 each
 *     node    size of data or low part of a page number 4, flags or high part 2, keyBytes 2, key, data
 *     tree    pad 4, flags 2, depth 2, branchPages 8, leafPages 8, overflowPages 8, entries 8, root 8
 */
import { readSync } from 'node:fs';

export const TREE_BYTES = 48;
/** The root of an empty tree, as a JavaScript number. */
export const NO_PAGE = 2 ** 64;

const PAGE = { number: 0, transaction: 8, flags: 18, lower: 20, upper: 22, pages: 20, header: 24 };
const NODE = { size: 0, flags: 4, keyBytes: 6, header: 8 };
const TREE = { flags: 4, depth: 6, branchPages: 8, leafPages: 16, overflowPages: 24, entries: 32, root: 40 };
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
const BIG_DATA = 0x01;
const SUB_TREE = 0x02;
const INTEGER_KEYS = 0x08;
/** Reference to a value that does not fit into a leaf: first page, transaction, number of pages. */
const PLACE_BYTES = 24;
/** LMDB's own limit. */
const DEPTH_MAX = 32;

/** Bytes read at once, and bytes cached: pages often lie beside their neighbours in key order. */
const BLOCK_BYTES = 64 * 1024;
const BLOCKS_MAX = 64;

/** Damage; the caller adds the name of the file. */
export class DamagedPages extends Error {}

export interface PageFile {
  readonly file: number;
  /** Bytes of the file. */
  readonly size: number;
  readonly pageSize: number;
  /** Number of the last page that may be in use. */
  readonly lastPage: number;
  /** The newest transaction; a page of a later one is not valid. */
  readonly transaction: number;
}

interface Tree {
  readonly name: string;
  readonly flags: number;
  readonly depth: number;
  readonly root: number;
  readonly counts: Counts;
}

interface Counts {
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
}

interface Leaf {
  readonly page: Buffer;
  readonly keyAt: number;
  readonly dataAt: number;
  readonly bytes: number;
  readonly flags: number;
}

/** Throws DamagedPages unless both trees of a header, and all trees in the main one, are intact. */
export function checkTrees(pages: PageFile, free: Buffer, main: Buffer): void {
  const walk = new Walk(pages);
  const trees: Tree[] = [];
  walk.tree(readTree('main', main), (leaf) => {
    if (leaf.flags !== SUB_TREE) return;
    if (leaf.bytes !== TREE_BYTES) throw new DamagedPages(`the record of a tree has ${leaf.bytes} bytes`);
    const name = leaf.page.toString('latin1', leaf.keyAt, leaf.dataAt);
    trees.push(readTree(name, leaf.page.subarray(leaf.dataAt, leaf.dataAt + TREE_BYTES)));
  });
  for (const tree of trees) walk.tree(tree);
  const lists: Buffer[] = [];
  // Its other flags apply to the whole file.
  const freeTree = readTree('free', free);
  walk.tree({ ...freeTree, flags: freeTree.flags & 0xff }, (leaf) => lists.push(walk.data(leaf)));
  for (const list of lists) walk.checkFree(list);
}

/** The transaction that wrote a page, from its header. */
export function writerOf(pages: PageFile, page: number): number {
  const target = Buffer.alloc(pages.pageSize);
  new Walk(pages).read(page, target);
  return readUint64(target, PAGE.transaction);
}

export const rootOf = (tree: Buffer): number => readUint64(tree, TREE.root);

export const readUint64 = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at + 4) * 2 ** 32 + bytes.readUInt32LE(at);

function readTree(name: string, bytes: Buffer): Tree {
  return {
    name,
    flags: bytes.readUInt16LE(TREE.flags),
    depth: bytes.readUInt16LE(TREE.depth),
    root: rootOf(bytes),
    counts: {
      branchPages: readUint64(bytes, TREE.branchPages),
      leafPages: readUint64(bytes, TREE.leafPages),
      overflowPages: readUint64(bytes, TREE.overflowPages),
      entries: readUint64(bytes, TREE.entries),
    },
  };
}

/** Tracks which pages of the file are in use. */
class Walk {
  readonly #used: Uint8Array;
  readonly #blocks: Blocks;
  readonly #overflow = Buffer.alloc(PAGE.header);

  constructor(private readonly pages: PageFile) {
    this.#used = new Uint8Array(pages.lastPage + 1);
    this.#used.fill(1, 0, 2);
    this.#blocks = new Blocks(pages.file);
  }

  tree({ name, flags, depth, root, counts }: Tree, onLeaf?: (leaf: Leaf) => void): void {
    const compare = name === 'free' ? compareIntegers : compareBytes;
    if (flags !== (name === 'free' ? INTEGER_KEYS : 0) || depth > DEPTH_MAX)
      throw new DamagedPages(`tree ${name} has flags ${flags} and a depth of ${depth}`);
    const found: Counts = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    if (root !== NO_PAGE)
      new TreeWalk(this, this.pages.pageSize, compare, found, onLeaf).page(root, depth, undefined, undefined);
    for (const part of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const)
      if (found[part] !== counts[part])
        throw new DamagedPages(`tree ${name} has ${found[part]} of ${counts[part]} ${part}`);
  }

  /** Reads as much of a page as the target holds. */
  read(number: number, target: Buffer): void {
    const { pageSize, lastPage, size } = this.pages;
    if (number < 2 || number > lastPage || (number + 1) * pageSize > size)
      throw new DamagedPages(`page ${number} is not in the file`);
    this.#blocks.read(number * pageSize, target);
    if (readUint64(target, PAGE.number) !== number) throw new DamagedPages(`page ${number} is another one`);
    if (readUint64(target, PAGE.transaction) > this.pages.transaction)
      throw new DamagedPages(`page ${number} is from the future`);
  }

  claim(number: number): void {
    if (number > this.pages.lastPage) throw new DamagedPages(`page ${number} is not in the file`);
    if (this.#used[number]) throw new DamagedPages(`page ${number} is used twice`);
    this.#used[number] = 1;
  }

  /** Marks the pages of a large value as used; returns their number. */
  claimLarge(leaf: Buffer, placeAt: number, bytes: number): number {
    const { pageSize, size } = this.pages;
    const number = readUint64(leaf, placeAt);
    const page = this.#overflow;
    this.read(number, page);
    const count = Math.floor((PAGE.header - 1 + bytes) / pageSize) + 1;
    const counts = [page.readUInt32LE(PAGE.pages), readUint64(leaf, placeAt + 16)];
    if (page.readUInt16LE(PAGE.flags) !== OVERFLOW || counts.some((other) => other !== count))
      throw new DamagedPages(`page ${number} does not begin a value of ${bytes} bytes`);
    if ((number + count) * pageSize > size)
      throw new DamagedPages(`the value in page ${number} is not all in the file`);
    for (let i = 0; i < count; i++) this.claim(number + i);
    return count;
  }

  /** A copy of a value, whose pages have been claimed. */
  data({ page, dataAt, bytes, flags }: Leaf): Buffer {
    if (flags !== BIG_DATA) return Buffer.from(page.subarray(dataAt, dataAt + bytes));
    const value = Buffer.alloc(bytes);
    const position = readUint64(page, dataAt) * this.pages.pageSize + PAGE.header;
    readSync(this.pages.file, value, 0, bytes, position);
    return value;
  }

  /**
   * A list of free pages: its length, then page numbers; a negative number is the count of a run that the next one
   * starts.
   */
  checkFree(list: Buffer): void {
    const length = list.length < 8 ? -1 : Number(list.readBigInt64LE(0));
    if (length < 0 || (length + 1) * 8 > list.length)
      throw new DamagedPages('a list of free pages has no such length');
    let run = 1;
    for (let i = 1; i <= length; i++) {
      const entry = Number(list.readBigInt64LE(i * 8));
      if (entry < 0) run = -entry;
      if (entry <= 0) continue;
      if (entry + run - 1 > this.pages.lastPage) throw new DamagedPages('a free page lies beyond the last');
      for (; run > 0; run--)
        if (this.#used[entry + run - 1]) throw new DamagedPages(`page ${entry + run - 1} is in use and free`);
      run = 1;
    }
  }
}

/** The file in blocks, of which those used last are cached. */
class Blocks {
  readonly #kept = new Map<number, Buffer>();

  constructor(private readonly file: number) {}

  /** Reads never cross blocks: the sizes of pages and blocks are powers of two. */
  read(position: number, target: Buffer): void {
    const number = Math.floor(position / BLOCK_BYTES);
    let block = this.#kept.get(number);
    if (block) this.#kept.delete(number);
    else {
      block = this.#recycled();
      readSync(this.file, block, 0, BLOCK_BYTES, number * BLOCK_BYTES);
    }
    this.#kept.set(number, block);
    const start = position - number * BLOCK_BYTES;
    block.copy(target, 0, start, start + target.length);
  }

  #recycled(): Buffer {
    if (this.#kept.size < BLOCKS_MAX) return Buffer.alloc(BLOCK_BYTES);
    const [oldest, block] = this.#kept.entries().next().value!;
    this.#kept.delete(oldest);
    return block;
  }
}

type Compare = (a: Buffer, aAt: number, aEnd: number, b: Buffer, bAt: number, bEnd: number) => number;

const compareBytes: Compare = (a, aAt, aEnd, b, bAt, bEnd) => {
  const end = Math.min(aEnd - aAt, bEnd - bAt);
  for (let i = 0; i < end; i++) {
    const difference = a[aAt + i]! - b[bAt + i]!;
    if (difference !== 0) return difference;
  }
  return aEnd - aAt - (bEnd - bAt);
};

const compareIntegers: Compare = (a, aAt, aEnd, b, bAt, bEnd) => {
  if (aEnd - aAt !== 8 || bEnd - bAt !== 8) throw new DamagedPages('a number has other than eight bytes');
  return readUint64(a, aAt) - readUint64(b, bAt);
};

class TreeWalk {
  /** One buffer for each level of the tree. */
  readonly #pages: Buffer[] = [];

  constructor(
    private readonly walk: Walk,
    private readonly pageSize: number,
    private readonly compare: Compare,
    private readonly found: Counts,
    private readonly onLeaf: ((leaf: Leaf) => void) | undefined,
  ) {}

  /** Checks a page and all below it. Its keys are from `low` (inclusive) to `high` (exclusive). */
  page(number: number, depth: number, low: Buffer | undefined, high: Buffer | undefined): void {
    const page = (this.#pages[depth] ??= Buffer.alloc(this.pageSize));
    this.walk.read(number, page);
    this.walk.claim(number);
    const lower = page.readUInt16LE(PAGE.lower);
    const upper = page.readUInt16LE(PAGE.upper);
    if (depth < 1 || page.readUInt16LE(PAGE.flags) !== (depth > 1 ? BRANCH : LEAF))
      throw new DamagedPages(`page ${number} is of another kind`);
    if (lower % 2 !== 0 || lower > upper || upper > this.pageSize - PAGE.header)
      throw new DamagedPages(`page ${number} has no such room`);
    const bytes = depth > 1 ? this.#branch(page, depth, low, high) : this.#leaf(page, low, high);
    if (bytes !== this.pageSize - PAGE.header - upper) throw new DamagedPages(`page ${number} has gaps`);
  }

  /** Returns the bytes of the nodes. */
  #leaf(page: Buffer, low: Buffer | undefined, high: Buffer | undefined): number {
    const count = page.readUInt16LE(PAGE.lower) / 2;
    this.found.leafPages++;
    this.found.entries += count;
    let used = 0;
    let beforeAt = 0;
    let beforeEnd = 0;
    for (let i = 0; i < count; i++) {
      const at = this.#node(page, i);
      const keyAt = at + NODE.header;
      const dataAt = keyAt + page.readUInt16LE(at + NODE.keyBytes);
      const bytes = page.readUInt32LE(at + NODE.size);
      const flags = page.readUInt16LE(at + NODE.flags);
      if (flags !== 0 && flags !== BIG_DATA && flags !== SUB_TREE)
        throw new DamagedPages(`a node has flags ${flags}`);
      const inPage = flags === BIG_DATA ? PLACE_BYTES : bytes;
      if (dataAt + inPage > this.pageSize) throw new DamagedPages('a node is larger than its page');
      if (i > 0 && this.compare(page, beforeAt, beforeEnd, page, keyAt, dataAt) >= 0) throw outOfOrder();
      if (i === 0 && low && this.compare(low, 0, low.length, page, keyAt, dataAt) > 0) throw outOfOrder();
      used += even(NODE.header + dataAt - keyAt + inPage);
      if (flags === BIG_DATA) this.found.overflowPages += this.walk.claimLarge(page, dataAt, bytes);
      this.onLeaf?.({ page, keyAt, dataAt, bytes, flags });
      beforeAt = keyAt;
      beforeEnd = dataAt;
    }
    if (high && count && this.compare(page, beforeAt, beforeEnd, high, 0, high.length) >= 0)
      throw outOfOrder();
    return used;
  }

  #branch(page: Buffer, depth: number, low: Buffer | undefined, high: Buffer | undefined): number {
    const count = page.readUInt16LE(PAGE.lower) / 2;
    this.found.branchPages++;
    if (count < 2) throw new DamagedPages('a branch has no branches');
    let used = 0;
    let from = low;
    for (let i = 0; i < count; i++) {
      const at = this.#node(page, i);
      used += even(NODE.header + page.readUInt16LE(at + NODE.keyBytes));
      const to = i + 1 < count ? this.#key(page, i + 1) : high;
      if (from && to && this.compare(from, 0, from.length, to, 0, to.length) >= 0) throw outOfOrder();
      const number = page.readUInt16LE(at + NODE.flags) * 2 ** 32 + page.readUInt32LE(at + NODE.size);
      this.page(number, depth - 1, from, to);
      from = to;
    }
    return used;
  }

  #key(page: Buffer, i: number): Buffer {
    const at = this.#node(page, i);
    const end = at + NODE.header + page.readUInt16LE(at + NODE.keyBytes);
    if (end > this.pageSize) throw new DamagedPages('a key is larger than its page');
    return Buffer.from(page.subarray(at + NODE.header, end));
  }

  /** The offset of a node, which is counted from behind the header. */
  #node(page: Buffer, i: number): number {
    const at = page.readUInt16LE(PAGE.header + 2 * i) + PAGE.header;
    if (at < PAGE.header + page.readUInt16LE(PAGE.upper) || at + NODE.header > this.pageSize)
      throw new DamagedPages('a node is outside of its page');
    return at;
  }
}

const outOfOrder = (): DamagedPages => new DamagedPages('keys are not in order');
const even = (bytes: number): number => (bytes + 1) & ~1;
