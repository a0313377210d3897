/**
 * The page trees of LMDB's data file, looked through before LMDB maps it.
 *
 * LMDB follows page numbers and offsets as it finds them: one wrong bit ends the process, hides keys, or hands out a
 * page that is in use. Here every page of every tree is read once and must be what its parent says: in the file, used
 * once, of the right kind and depth, its nodes inside it and without gaps, its keys in order and between those of its
 * parent, the sums as the tree's own record has them, and nothing in use also on the list of free pages. What the
 * values say is not looked at: each has its own checksum (`record.ts`).
 *
 *     page    pgno 8, txnid 8, pad 2, flags 2, lower 2, upper 2 (or pages 4), then offsets of nodes, 2 each
 *     node    size of data or low part of a page number 4, flags or high part 2, keyBytes 2, key, data
 *     tree    pad 4, flags 2, depth 2, branchPages 8, leafPages 8, overflowPages 8, entries 8, root 8
 */
import { readSync } from 'node:fs';

export const TREE_BYTES = 48;

const PAGE = { number: 0, flags: 18, lower: 20, upper: 22, pages: 20, header: 24 };
const NODE = { size: 0, flags: 4, keyBytes: 6, header: 8 };
const TREE = { flags: 4, depth: 6, branchPages: 8, leafPages: 16, overflowPages: 24, entries: 32, root: 40 };
const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
const BIG_DATA = 0x01;
const SUB_TREE = 0x02;
const INTEGER_KEYS = 0x08;
const NO_PAGE = 0xffff_ffff_ffff_ffffn;
/** Page, transaction and number of pages of a value that does not fit into a leaf. */
const BIG_DATA_BYTES = 24;
/** A tree of four-byte keys reaches 2^48 pages with fewer levels. */
const DEPTH_MAX = 32;

/** Pages lie beside their neighbours in key order more often than not: so much is read at once, and so much kept. */
const BLOCK_BYTES = 64 * 1024;
const BLOCKS_MAX = 64;

/** What is wrong; the caller says with what. */
export class DamagedPages extends Error {}

interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  readonly root: bigint;
}

export interface PageFile {
  readonly file: number;
  /** Bytes of the file. */
  readonly size: number;
  readonly pageSize: number;
  /** Number of the last page that may be in use. */
  readonly lastPage: number;
}

type Leaf = (key: Buffer, data: Buffer, flags: number) => void;
type Compare = (a: Buffer, b: Buffer) => number;

/** Throws DamagedPages unless both trees of a header, and all trees in the main one, are whole. */
export function checkTrees(pages: PageFile, free: Buffer, main: Buffer): void {
  const walk = new Walk(pages);
  const trees: { name: string; tree: Buffer }[] = [];
  walk.tree('main', readTree(main), (key, data, flags) => {
    if ((flags & SUB_TREE) === 0) return;
    if (data.length !== TREE_BYTES) throw new DamagedPages(`the record of a tree has ${data.length} bytes`);
    trees.push({ name: key.toString('latin1'), tree: Buffer.from(data) });
  });
  for (const { name, tree } of trees) walk.tree(name, readTree(tree), () => {});
  const lists: Buffer[] = [];
  const { flags, ...freeTree } = readTree(free);
  if (flags !== INTEGER_KEYS) throw new DamagedPages('the list of free pages has other keys than it should');
  walk.tree('free', { ...freeTree, flags: 0 }, (_, data) => lists.push(Buffer.from(data)), byInteger);
  for (const list of lists) walk.free(list);
}

/** The transaction that wrote a page, which its header tells. */
export function writerOf(pages: PageFile, page: bigint): bigint {
  return new Walk(pages).page(page).readBigUInt64LE(8);
}

export const rootOf = (tree: Buffer): bigint => tree.readBigUInt64LE(TREE.root);

function readTree(bytes: Buffer): Tree {
  const count = (offset: number): number => Number(bytes.readBigUInt64LE(offset));
  return {
    flags: bytes.readUInt16LE(TREE.flags),
    depth: bytes.readUInt16LE(TREE.depth),
    branchPages: count(TREE.branchPages),
    leafPages: count(TREE.leafPages),
    overflowPages: count(TREE.overflowPages),
    entries: count(TREE.entries),
    root: rootOf(bytes),
  };
}

const byInteger: Compare = (a, b) => {
  const [left, right] = [a.readBigUInt64LE(0), b.readBigUInt64LE(0)];
  return left < right ? -1 : left > right ? 1 : 0;
};

class Walk {
  readonly #used: Uint8Array;
  readonly #blocks = new Map<number, Buffer>();

  constructor(private readonly pages: PageFile) {
    this.#used = new Uint8Array(Math.ceil((pages.lastPage + 1) / 8));
    this.#use(0);
    this.#use(1);
  }

  tree(name: string, tree: Tree, onLeaf: Leaf, compare: Compare = Buffer.compare): void {
    const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
    if (tree.flags !== 0) throw new DamagedPages(`tree ${name} has flags ${tree.flags}`);
    if (tree.depth > DEPTH_MAX) throw new DamagedPages(`tree ${name} has a depth of ${tree.depth}`);
    if (tree.root === NO_PAGE) {
      if (tree.depth !== 0) throw new DamagedPages(`tree ${name} has a depth and no pages`);
    } else new TreeWalk(this, onLeaf, compare, found).page(tree.root, tree.depth, undefined, undefined);
    for (const part of ['branchPages', 'leafPages', 'overflowPages', 'entries'] as const)
      if (found[part] !== tree[part])
        throw new DamagedPages(`tree ${name} has ${found[part]} ${part} of ${tree[part]}`);
  }

  /** A list of free pages: its length, then page numbers; a negative number says how many follow the next. */
  free(list: Buffer): void {
    const length = list.length >= 8 ? Number(list.readBigInt64LE(0)) : -1;
    if (length < 0 || (length + 1) * 8 > list.length)
      throw new DamagedPages('a list of free pages has no such length');
    let run = 1;
    for (let i = 1; i <= length; i++) {
      const entry = Number(list.readBigInt64LE(i * 8));
      if (entry < 0) run = -entry;
      else if (entry > 0) {
        if (entry + run - 1 > this.pages.lastPage) throw new DamagedPages('a free page lies beyond the last');
        for (let page = entry; page < entry + run; page++)
          if (this.#isUsed(page)) throw new DamagedPages(`page ${page} is in use and free`);
        run = 1;
      }
    }
  }

  page(number: bigint): Buffer {
    const { pageSize, lastPage, size } = this.pages;
    const at = Number(number);
    if (at < 2 || at > lastPage || (at + 1) * pageSize > size)
      throw new DamagedPages(`page ${number} is not in the file`);
    const page = this.#read(at);
    if (page.readBigUInt64LE(PAGE.number) !== number) throw new DamagedPages(`page ${number} is another one`);
    return page;
  }

  claim(number: number): void {
    if (number > this.pages.lastPage) throw new DamagedPages(`page ${number} is not in the file`);
    if (this.#isUsed(number)) throw new DamagedPages(`page ${number} is used twice`);
    this.#use(number);
  }

  /** Marks the pages of a large value, and answers how many they are. */
  overflow(place: Buffer, dataBytes: number): number {
    const number = place.readBigUInt64LE(0);
    const page = this.page(number);
    const count = Math.floor((PAGE.header - 1 + dataBytes) / this.pages.pageSize) + 1;
    if (page.readUInt16LE(PAGE.flags) !== OVERFLOW || page.readUInt32LE(PAGE.pages) !== count)
      throw new DamagedPages(`page ${number} does not begin a value of ${dataBytes} bytes`);
    if (Number(place.readBigUInt64LE(16)) !== count)
      throw new DamagedPages(`the value in page ${number} has another number of pages`);
    if ((Number(number) + count) * this.pages.pageSize > this.pages.size)
      throw new DamagedPages(`the value in page ${number} is not all in the file`);
    for (let i = 0; i < count; i++) this.claim(Number(number) + i);
    return count;
  }

  #use(number: number): void {
    this.#used[number >>> 3]! |= 1 << (number & 7);
  }

  #isUsed(number: number): boolean {
    return (this.#used[number >>> 3]! & (1 << (number & 7))) !== 0;
  }

  #read(number: number): Buffer {
    const { file, pageSize } = this.pages;
    const bytes = Math.max(BLOCK_BYTES, pageSize);
    const position = number * pageSize;
    const blockNumber = Math.floor(position / bytes);
    let block = this.#blocks.get(blockNumber);
    if (block) this.#blocks.delete(blockNumber);
    else {
      block = Buffer.alloc(bytes);
      readSync(file, block, 0, bytes, blockNumber * bytes);
      if (this.#blocks.size === BLOCKS_MAX) this.#blocks.delete(this.#blocks.keys().next().value!);
    }
    this.#blocks.set(blockNumber, block);
    const start = position - blockNumber * bytes;
    return block.subarray(start, start + pageSize);
  }
}

class TreeWalk {
  constructor(
    private readonly walk: Walk,
    private readonly onLeaf: Leaf,
    private readonly compare: Compare,
    private readonly found: {
      branchPages: number;
      leafPages: number;
      overflowPages: number;
      entries: number;
    },
  ) {}

  /** A page and all below it; its keys are from `low` on and before `high`. */
  page(number: bigint, depth: number, low: Buffer | undefined, high: Buffer | undefined): void {
    const page = this.walk.page(number);
    this.walk.claim(Number(number));
    const kind = depth > 1 ? BRANCH : LEAF;
    if (depth < 1 || page.readUInt16LE(PAGE.flags) !== kind)
      throw new DamagedPages(`page ${number} is of another kind`);
    const nodes = nodesOf(page, number);
    if (kind === LEAF) this.#leaf(page, nodes, low, high);
    else this.#branch(page, nodes, depth, low, high);
  }

  #leaf(page: Buffer, nodes: number[], low: Buffer | undefined, high: Buffer | undefined): void {
    this.found.leafPages++;
    this.found.entries += nodes.length;
    let left = page.length - PAGE.header - page.readUInt16LE(PAGE.upper);
    let before = low;
    for (const [i, at] of nodes.entries()) {
      const flags = page.readUInt16LE(at + NODE.flags);
      const key = keyAt(page, at);
      this.#inOrder(before, key, i === 0);
      before = key;
      const size = page.readUInt32LE(at + NODE.size);
      const isBig = flags === BIG_DATA;
      if (flags !== 0 && !isBig && flags !== SUB_TREE) throw new DamagedPages(`a node has flags ${flags}`);
      const dataAt = at + NODE.header + key.length;
      const bytes = isBig ? BIG_DATA_BYTES : size;
      if (dataAt + bytes > page.length) throw new DamagedPages('a node is larger than its page');
      left -= even(NODE.header + key.length + bytes);
      const data = page.subarray(dataAt, dataAt + bytes);
      if (isBig) this.found.overflowPages += this.walk.overflow(data, size);
      this.onLeaf(key, data, flags);
    }
    if (high && before && this.compare(before, high) >= 0) throw outOfOrder();
    if (left !== 0) throw new DamagedPages('a leaf does not add up');
  }

  #branch(
    page: Buffer,
    nodes: number[],
    depth: number,
    low: Buffer | undefined,
    high: Buffer | undefined,
  ): void {
    this.found.branchPages++;
    if (nodes.length < 2) throw new DamagedPages('a branch has no branches');
    let left = page.length - PAGE.header - page.readUInt16LE(PAGE.upper);
    // The page belongs to a block that the pages below may push out: what is needed of it is copied.
    const children = nodes.map((at, i) => {
      const key = Buffer.from(keyAt(page, at));
      left -= even(NODE.header + key.length);
      const number =
        BigInt(page.readUInt32LE(at + NODE.size)) | (BigInt(page.readUInt16LE(at + NODE.flags)) << 32n);
      return { number, from: i === 0 ? low : key };
    });
    if (left !== 0) throw new DamagedPages('a branch does not add up');
    for (const [i, { number, from }] of children.entries()) {
      const to = children[i + 1]?.from ?? high;
      if (from && to) this.#inOrder(from, to, false);
      this.page(number, depth - 1, from, to);
    }
  }

  #inOrder(before: Buffer | undefined, key: Buffer, orEqual: boolean): void {
    if (!before) return;
    const order = this.compare(before, key);
    if (order > 0 || (order === 0 && !orEqual)) throw outOfOrder();
  }
}

const outOfOrder = (): DamagedPages => new DamagedPages('keys are not in order');
const even = (bytes: number): number => (bytes + 1) & ~1;

function keyAt(page: Buffer, at: number): Buffer {
  const start = at + NODE.header;
  const end = start + page.readUInt16LE(at + NODE.keyBytes);
  if (end > page.length) throw new DamagedPages('a key is larger than its page');
  return page.subarray(start, end);
}

/** Where the nodes of a page begin. Offsets are counted from behind the header. */
function nodesOf(page: Buffer, number: bigint): number[] {
  const lower = page.readUInt16LE(PAGE.lower);
  const upper = page.readUInt16LE(PAGE.upper);
  const room = page.length - PAGE.header;
  if (lower % 2 !== 0 || lower > upper || upper > room)
    throw new DamagedPages(`page ${number} has no such room`);
  const nodes: number[] = [];
  for (let at = PAGE.header; at < PAGE.header + lower; at += 2) {
    const offset = page.readUInt16LE(at);
    if (offset < upper || offset + NODE.header > room)
      throw new DamagedPages(`page ${number} has a node outside`);
    nodes.push(offset + PAGE.header);
  }
  return nodes;
}
