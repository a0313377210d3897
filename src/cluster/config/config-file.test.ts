/** Proves that a file says what flags say, that its errors name their places, and that its schema allows what is read. */
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { fileForms } from '../../cli/option-sources.ts';
import { beginConfig } from './config-command.ts';
import { readConfigFile, readConfigText } from './config-file.ts';
import { configSchema } from './config-schema.ts';

const forms = fileForms();
const folder = mkdtempSync(path.join(tmpdir(), 'wherry-config-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const read = (text: string, file = 'wherry.yaml') => readConfigText(text, file, forms);

describe('a file', () => {
  it('gives flags the values that a command line would', () => {
    const text = `
$schema: ./wherry.schema.json
port: off
secure-port: 06443
in-memory: true
disable-http2-serving: false
anonymous-auth: false
tls-san: [a.example, 10.0.0.1]
runtime-config: apps/v1=false,batch/v1=true
controllers: ["*", -job]
ui: on
log-level:
history: 10m,5
`;
    expect(Object.fromEntries(read(text).flags)).toEqual({
      port: ['off'],
      'secure-port': ['06443'],
      'in-memory': ['true'],
      'anonymous-auth': ['false'],
      'tls-san': ['a.example', '10.0.0.1'],
      'runtime-config': ['apps/v1=false,batch/v1=true'],
      controllers: ['*,-job'],
      ui: ['on'],
      history: ['10m,5'],
    });
  });

  it('may be JSON, with line ends of Windows, or empty', () => {
    expect(read('{"port": 1}').flags.get('port')).toEqual(['1']);
    expect(read('port: 1\r\nui: off\r\n').flags.get('ui')).toEqual(['off']);
    expect(read('# port: 1\n').flags.size).toBe(0);
  });

  it('says what no flag can', () => {
    const text = `
nodes:
  - {name: dev, labels: {disk: ssd}}
  - {simulated: 3, name: small, taints: ["a=b:NoSchedule", c:NoExecute], capacity: {cpu: 4, memory: 16Gi}}
images: {web: node x.js, tool: {files: ./x.tar}}
registries: {ghcr.io: {username: u, password: 007}}
`;
    expect(Object.fromEntries(read(text, '/here/wherry.yaml').parts)).toEqual({
      nodes: [
        { name: 'dev', labels: { disk: 'ssd' } },
        {
          simulated: 3,
          name: 'small',
          taints: ['a=b:NoSchedule', 'c:NoExecute'],
          capacity: { cpu: '4', memory: '16Gi' },
        },
      ],
      images: { web: 'node x.js', tool: { files: '/here/x.tar' } },
      registries: { 'ghcr.io': { username: 'u', password: '007' } },
    });
  });

  it('names paths from its own folder', () => {
    const text = 'images: images.yaml\ndocker-socket: off\ntoken-auth-file: /a/b\nmanifests: [k8s, ./x]';
    const { flags } = read(text, '/home/me/dev/wherry.yaml');
    expect([...flags.values()]).toEqual([
      ['/home/me/dev/images.yaml'],
      ['off'],
      ['/a/b'],
      ['/home/me/dev/k8s', '/home/me/dev/x'],
    ]);
  });

  it.each([
    ['prot: 1', '1:1: there is no option "prot"; did you mean "port"?'],
    ['config: other.yaml', '1:1: there is no option "config"'],
    ['help: true', '1:1: there is no option "help"'],
    ['__proto__: {a: 1}', '1:1: there is no option "__proto__"'],
    ['constructor: 1', '1:1: there is no option "constructor"'],
    ['# x\n\nport: 99999', '3:7: port must be a number from 0 to 65535, not "99999"'],
    ['port: [1, 2]', '1:7: port takes one value, not a list'],
    ['port: {a: 1}', '1:7: port takes PORT, not a map'],
    ['in-memory: "yes"', '1:12: in-memory must be true or false'],
    ['anonymous-auth: 1', '1:17: anonymous-auth must be true or false'],
    ['tls-san: [a, [b]]', '1:14: tls-san[1] must be a text'],
    ['tls-san:\n  - ok\n  - not ok', '2:3: tls-san must be a name or an address, not "not ok"'],
    ['like: openshift', '1:7: like must be one of kubernetes'],
    ['- port: 1', '1:1: the file must be a map'],
    ['port', '1:1: the file must be a map'],
    ['port: 1\nport: 2', '2:1: key "port" already set in map'],
    ['nodes:\n  - {name: a, "name": name}', '2:15: key "name" already set in map'],
    ['port: "1', '1:9: the closing " is missing'],
    ['tls-san: [a\nui: off', '2:8: the closing ] is missing'],
    ['nodes: {\n', '2:1: the closing } is missing'],
    ['\tport: 1', '1:1: lines are indented by spaces, not by tabs'],
    ['port: 1\n  ui: off', '1:7: a key in a value: indent the next line less, or'],
    ['ui: a: b', '1:5: a key in a value: '],
    ['port:1\nui: off', '1:1: a line of a map is a key, a colon, a space and its value'],
    ['port: 1\nui', '2:1: a line of a map is a key, a colon, a space and its value'],
    ['nodes:\n  - name: a\n labels: {}', '3:1: this line is indented differently'],
    ['nodes:\n- name: a\n labels: {}', '3:1: an item of a list begins with - and a space'],
    ['ui: @on', '1:5: a value that begins with such a character is written in quotes'],
    ['ui: "\\q"', '1:6: \\q means nothing in double quotes: write \\\\ for a backslash'],
    ['nodes: {a: 1,, b: 2}', '1:14: this is no YAML from , on'],
    ['port: 1\n---\nui: off', '3:1: expected one YAML document, found more'],
    [
      'prot: 1\nui: maybe',
      '1:1: there is no option "prot"; did you mean "port"?\nwherry.yaml:2:5: ui must be',
    ],
  ])('%j is refused', (text, says) => {
    expect(() => read(text)).toThrow(`wherry.yaml:${says}`);
  });

  it('has errors without number, and shows some', () => {
    const text = Array.from({ length: 100 }, (_, i) => `nothing-${i}: 1`).join('\n');
    expect(() => read(text)).toThrow(/there are 80 more errors$/);
  });

  it('is looked for by its name, and must be there when it is asked for', () => {
    const file = path.join(folder, 'big.yaml');
    writeFileSync(file, '');
    truncateSync(file, 2 * 1024 * 1024);
    expect(() => readConfigFile(file, () => forms)).toThrow('it has more than 1048576 bytes');
    expect(() => readConfigFile(folder, () => forms)).toThrow('it is no file');
    expect(() => readConfigFile(path.join(folder, 'no.yaml'), () => forms)).toThrow('there is no such file');
  });
});

describe('the schema', () => {
  const { properties } = configSchema(forms) as { properties: Record<string, { description?: string }> };

  it('has every option, each with a sentence', () => {
    expect(Object.keys(properties).sort()).toEqual(
      [...new Set(['$schema', ...forms.flags.keys(), ...forms.parts.keys()])].sort(),
    );
    expect(forms.flags.size).toBeGreaterThan(100);
    for (const [key, { description }] of Object.entries(properties)) expect(description, key).toBeTruthy();
  });

  it('comes with a file to begin with, which is read again and is never replaced', () => {
    const file = path.join(folder, 'wherry.yaml');
    expect(beginConfig(file, forms)).toContain('wherry.schema.json');
    expect(readConfigFile(file, () => forms)?.flags.size).toBe(0);
    expect(() => beginConfig(file, forms)).toThrow('exists already, and is left as it is');
  });
});
