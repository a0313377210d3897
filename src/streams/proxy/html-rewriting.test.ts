/** Links in HTML are rewritten; nothing else is changed. Streaming contract, 5.6. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rounds } from '../../../test/support/tier.ts';
import { rewriteHtml } from './html-rewriting.ts';

const rule = { prefix: '/P', hosts: ['10.1.2.3:80', 'localhost:8001'] };
const rewrite = async (html: string): Promise<string> =>
  (await rewriteHtml(Buffer.from(html), rule))!.toString();

const attributes: Record<string, string> = {
  a: 'href',
  area: 'href',
  base: 'href',
  link: 'href',
  audio: 'src',
  embed: 'src',
  script: 'src',
  source: 'src',
  applet: 'codebase',
  blockquote: 'cite',
  del: 'cite',
  ins: 'cite',
  q: 'cite',
  body: 'background',
  button: 'formaction',
  command: 'icon',
  form: 'action',
  frame: 'longdesc src',
  iframe: 'longdesc src',
  head: 'profile',
  html: 'manifest',
  img: 'longdesc src usemap',
  input: 'src usemap formaction',
  object: 'classid codebase data usemap',
  video: 'poster src',
};

describe('attributes', () => {
  for (const [tag, names] of Object.entries(attributes))
    it(`of ${tag}: ${names}`, async () => {
      // Proves a row of the table, and that no other attribute of the tag counts as a link.
      for (const name of new Set(Object.values(attributes).join(' ').split(' '))) {
        const html = `<${tag} x=1 ${name}="/u">`;
        expect(await rewrite(html)).toBe(
          names.split(' ').includes(name) ? `<${tag} x=1 ${name}="/P/u">` : html,
        );
      }
    });
});

describe('tags', () => {
  // Proves how each piece of HTML is parsed.
  for (const [html, expected] of [
    ['<a href="/x">/x</a>', '<a href="/P/x">/x</a>'],
    ["<a href='/x'>", '<a href="/P/x">'],
    ['<a href=/x>', '<a href="/P/x">'],
    ['<a href=/x/>', '<a href="/P/x/">'],
    ['<a href = "/x" >', '<a href = "/P/x" >'],
    ['<A\nHREF\t=\r\n"/x">', '<A\nHREF\t=\r\n"/P/x">'],
    ['<a/href="/x"/>', '<a/href="/P/x"/>'],
    ['<a b href="/x" c>', '<a b href="/P/x" c>'],
    ['<a title=">" href="/x">', '<a title=">" href="/P/x">'],
    ['<a =href="/x">', '<a =href="/x">'],
    ['<a href="/x"title="/y">', '<a href="/P/x"title="/y">'],
    ['<a href="/x" href="/y">', '<a href="/P/x" href="/P/y">'],
    ['<a href="http://10.1.2.3/x">', '<a href="/P/x">'],
    ['<a href="http://elsewhere/x">', '<a href="http://elsewhere/x">'],
    ["<a href='x'>", "<a href='x'>"],
    ['<a href="%zz">', '<a href="%zz">'],
    ['<a href="">', '<a href="">'],
    ['<a href=>', '<a href=>'],
    ['<a href>', '<a href>'],
    ['<b href="/x">', '<b href="/x">'],
    ['<ab href="/x">', '<ab href="/x">'],
    // References
    ['<a href="/x?a=1&amp;b=2">', '<a href="/P/x?a=1&amp;b=2">'],
    ['<a href="/x?a=1&b=2">', '<a href="/P/x?a=1&b=2">'],
    ['<a href="&#47;x">', '<a href="/P/x">'],
    ['<a href="&#x2f;x&sol;y">', '<a href="/P/x/y">'],
    ['<a href="/x?a&quot;b">', '<a href="/P/x?a&#34;b">'],
    ["<a href='/x?a\"b<c>'>", '<a href="/P/x?a&#34;b&lt;c&gt;">'],
    [
      '<a href="/x?&eacute;&#233;&#xe9;&unknown;&ampx=1&amp=2&amp">',
      '<a href="/P/x?&eacute;&#233;&#xe9;&unknown;&ampx=1&amp=2&amp;">',
    ],
    ['<a href="/x?&amp;eacute;">', '<a href="/P/x?&amp;eacute;">'],
    // What only looks like a tag
    ['a < b <a href="/x">', 'a < b <a href="/P/x">'],
    ['</a href="/x"><a href="/y">', '</a href="/x"><a href="/P/y">'],
    ['</a title="><a href=/x>"><a href="/y">', '</a title="><a href=/x>"><a href="/P/y">'],
    ['</ ><a href=/x>', '</ ><a href="/P/x">'],
    ['<!-- <a href="/x"> --><a href="/y">', '<!-- <a href="/x"> --><a href="/P/y">'],
    ['<!--><a href="/x">', '<!--><a href="/P/x">'],
    ['<!---><a href="/x">', '<!---><a href="/P/x">'],
    ['<!----><a href="/x">', '<!----><a href="/P/x">'],
    ['<!-- --!><a href="/x">', '<!-- --!><a href="/P/x">'],
    ['<!-- -> <a href="/x"> -->', '<!-- -> <a href="/x"> -->'],
    ['<!-- <a href="/x">', '<!-- <a href="/x">'],
    ['<!doctype html><a href="/x">', '<!doctype html><a href="/P/x">'],
    ['<?php <a ?><a href="/x">', '<?php <a ?><a href="/P/x">'],
    ['<![CDATA[ > <a href="/x">', '<![CDATA[ > <a href="/P/x">'],
    // Content that is text
    ['<script>"<a href=/x>"</script><a href=/y>', '<script>"<a href=/x>"</script><a href="/P/y">'],
    [
      '<script src="/s">"<a href=/x>"</SCRIPT ><a href=/y>',
      '<script src="/P/s">"<a href=/x>"</SCRIPT ><a href="/P/y">',
    ],
    ['<script>x</scripty><a href=/x></script>', '<script>x</scripty><a href=/x></script>'],
    [
      '<script><!--<script></script><a href=/x>--></script><a href=/y>',
      '<script><!--<script></script><a href=/x>--></script><a href="/P/y">',
    ],
    ['<script><!--></script><a href=/y>', '<script><!--></script><a href="/P/y">'],
    ['<script><!--</script><a href=/y>', '<script><!--</script><a href="/P/y">'],
    ['<style><a href=/x></style><a href=/y>', '<style><a href=/x></style><a href="/P/y">'],
    ['<title><a href=/x></title><a href=/y>', '<title><a href=/x></title><a href="/P/y">'],
    ['<textarea><a href=/x></textarea><a href=/y>', '<textarea><a href=/x></textarea><a href="/P/y">'],
    [
      '<iframe src=/f><a href=/x></iframe><a href=/y>',
      '<iframe src="/P/f"><a href=/x></iframe><a href="/P/y">',
    ],
    ['<plaintext></plaintext><a href=/x>', '<plaintext></plaintext><a href=/x>'],
    // Texts that end too early
    ['<', '<'],
    ['</', '</'],
    ['<a', '<a'],
    ['<a href', '<a href'],
    ['<a href=', '<a href='],
    ['<a href="/x', '<a href="/x'],
    ['<a href="/x"', '<a href="/x"'],
    ['<!-', '<!-'],
    ['<!--', '<!--'],
  ] as const)
    it(JSON.stringify(html), async () => expect(await rewrite(html)).toBe(expected));
});

describe('hostile pages', () => {
  it('keep every byte outside of links', async () => {
    // Proves that bytes of any encoding pass unchanged.
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        const page = Buffer.concat([Buffer.from('<a href="/x">'), Buffer.from(bytes)]);
        const plain = Buffer.from(bytes).includes('<') ? undefined : Buffer.from(bytes);
        const out = (await rewriteHtml(page, rule))!;
        expect(out.subarray(0, 15).toString()).toBe('<a href="/P/x">');
        if (plain) expect(out.subarray(15).equals(plain)).toBe(true);
      }),
    );
  });

  it('come out with nothing but prefixes added, and a second time changes nothing', async () => {
    // Proves that any mix of tags is parsed to its end without an exception, and that a second pass changes nothing.
    const piece = fc.oneof(
      fc.constantFrom(
        ...[
          '<a href=',
          '"',
          "'",
          '>',
          '<',
          '/',
          '/x',
          '</a>',
          '<!--',
          '-->',
          '--!>',
          '<script>',
          '</script>',
        ],
        ...[
          '<script',
          '<title>',
          '</title>',
          '=',
          ' ',
          '\n',
          '&amp;',
          '&',
          '&#47;',
          '<img src="/y"',
          '<?',
          '<!',
          '%',
        ],
      ),
      fc.string({ maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 30 }), async (pieces) => {
        const once = await rewrite(pieces.join(''));
        expect(await rewrite(once)).toBe(once);
      }),
      { numRuns: rounds(3000) },
    );
  });

  for (const unit of [
    '<',
    '<a',
    '<a ',
    '<a href="',
    "<a href='/x' ",
    '<a href=/x>',
    '<!--',
    '<!-',
    '<script>',
    '<script><!--<script>',
    '</',
    '</a',
    '=',
    '<title>',
    '<title></titl',
    '&',
    '<a href="&',
    '<a b=',
    '<?',
    '-->',
  ])
    it(`made of ${JSON.stringify(unit)} are read to their end`, async () => {
      // Proves linear time: quadratic time for this length would exceed the test's timeout.
      const page = Buffer.from(unit.repeat(Math.ceil(300_000 / unit.length)));
      const out = (await rewriteHtml(page, rule))!;
      expect(out.length).toBeGreaterThanOrEqual(page.length);
    });

  it('with tags beyond measure are left alone from there on', async () => {
    // Proves that parsing stops at a tag with too many attributes.
    const page = `<a href=/x><a ${'b=c '.repeat(2_000)}href=/y>`;
    expect(await rewrite(page)).toBe(page.replace('/x', '"/P/x"'));
  });

  it('let others have their turn', async () => {
    // Proves that a large page does not block the event loop.
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await rewriteHtml(Buffer.from('<a href=/x>'.repeat(100_000)), rule);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(10);
  });

  it('that would grow without measure are not rewritten', async () => {
    // Proves that many links with a long prefix cannot exhaust the memory.
    const page = Buffer.from('<a href=/>'.repeat(100_000));
    expect(await rewriteHtml(page, { prefix: `/${'p'.repeat(1_000)}`, hosts: [] })).toBeUndefined();
    expect((await rewriteHtml(page, { prefix: '/p', hosts: [] }))!.length).toBe(1_400_000);
  });
});
