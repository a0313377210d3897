/** Proves that `npm run absorb` finds what is new in a checkout of Kubernetes, from small trees, and writes field tables. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

type Json = any;

const root = join(import.meta.dirname, '../..');
const script = (name: string): Promise<Json> =>
  import(/* @vite-ignore */ pathToFileURL(join(root, 'scripts', name)).href);
const { compare } = await script('absorb/comparison.mjs');
const { joinedTables, readOwnSurface, readOwnTables } = await script('absorb/own-surface.mjs');
const { tableText } = await script('absorb/table-text.mjs');
const { readCheckout, report, writeTables } = await script('absorb.mjs');

const api = 'staging/src/k8s.io/api/sea/v1';
const types = `package v1

// +enum
type Sail string

// Boat floats.
type Boat struct {
	metav1.TypeMeta \`json:",inline"\`
	// +optional
	metav1.ObjectMeta \`json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"\`
	Spec BoatSpec \`json:"spec,omitempty" protobuf:"bytes,2,opt,name=spec"\`
}

type Rigging struct {
	// +featureGate=FastSails
	Sail *Sail \`json:"sail,omitempty" protobuf:"bytes,1,opt,name=sail"\`
}

type BoatSpec struct {
	Name string \`json:"name" protobuf:"bytes,1,opt,name=name"\`
	Crew []string \`json:"crew,omitempty" protobuf:"bytes,3,rep,name=crew"\`
	Rigging \`json:",inline" protobuf:"bytes,4,opt,name=rigging"\`
	Built metav1.Time \`json:"built,omitempty" protobuf:"bytes,5,opt,name=built"\`
}
`;
const proto = `message Boat {
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.ObjectMeta metadata = 1;
  optional BoatSpec spec = 2;
}
message Rigging {
  optional string sail = 1;
}
message BoatSpec {
  optional string name = 1;
  repeated string crew = 3;
  optional Rigging rigging = 4;
  optional .k8s.io.apimachinery.pkg.apis.meta.v1.Time built = 5;
}
`;
const documents = {
  components: {
    schemas: {
      'io.k8s.api.sea.v1.Boat': {
        properties: { apiVersion: {}, kind: {}, metadata: { default: {} }, spec: { default: {} } },
        required: ['spec'],
      },
      'io.k8s.api.sea.v1.BoatSpec': {
        properties: {
          built: {},
          crew: { 'x-kubernetes-list-type': 'set' },
          name: { default: '' },
          sail: { default: 'Jib' },
        },
        required: ['name'],
      },
    },
  },
};
const enums = `func schema_k8sio_api_sea_v1_BoatSpec(ref common) {
\t\t\t\t\t"other": {
func schema_k8sio_api_sea_v1_Rigging(ref common) {
\t\t\t\t\t"sail": {
\t\t\t\t\t\t\tEnum: []interface{}{"Jib", "Main"},
`;
const gates = `- name: FastSails
  versionedSpecs:
  - default: false
    lockToDefault: false
    preRelease: Alpha
    version: "1.40"
  - default: true
    lockToDefault: true
    preRelease: GA
    version: "1.41"
`;
const printers = `	boatColumns := []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: "n"},
		{Name: "Crew", Type: "integer", Priority: 1, Description: "c"},
	}
	_ = h.TableHandler(boatColumns, printBoat)
	boatColumns = append(boatColumns, []metav1.TableColumnDefinition{
		{Name: "Age", Type: "string", Description: "a"},
	}...)
func printBoat(obj *sea.Boat, options printers.GenerateOptions) error {
`;
const lifecycle = `func (in *Boat) APILifecycleDeprecated() (major, minor int) {
	return 1, 41
}
func (in *Boat) APILifecycleRemoved() (major, minor int) {
	return 1, 44
}
`;
const boats = { name: 'boats', singularName: 'boat', namespaced: true, kind: 'Boat', verbs: ['get', 'list'] };

const checkoutFiles = {
  [`${api}/types.go`]: types,
  [`${api}/generated.proto`]: proto,
  [`${api}/zz_generated.prerelease-lifecycle.go`]: lifecycle,
  'api/openapi-spec/v3/apis__sea__v1_openapi.json': JSON.stringify(documents),
  'api/discovery/apis__sea__v1.json': JSON.stringify({ groupVersion: 'sea/v1', resources: [boats] }),
  'pkg/generated/openapi/zz_generated.openapi.go': enums,
  'test/compatibility_lifecycle/reference/versioned_feature_list.yaml': gates,
  'pkg/printers/internalversion/printers.go': printers,
};

/** What the tree above says of the table. */
const specFields = {
  built: { empty: 'null', format: 'date-time', pb: [5, 'Time'], type: 'string' },
  crew: { items: { type: 'string' }, listType: 'set', pb: [3, 'repeated string'], type: 'array' },
  name: { empty: 'zero', pb: [1, 'string'], type: 'string' },
  sail: {
    default: 'Jib',
    enum: ['Jib', 'Main'],
    gate: 'FastSails',
    pb: [4, 1, 'string'],
    ptr: true,
    type: 'string',
  },
};
const whole = {
  apiVersion: 'sea/v1',
  models: {
    Boat: {
      gvk: 'sea/v1/Boat',
      required: ['spec'],
      order: ['kind', 'apiVersion', 'metadata', 'spec'],
      fields: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata: { empty: 'zero', pb: [1, 'ObjectMeta'], ref: 'core-v1:ObjectMeta' },
        spec: { empty: 'zero', pb: [2, 'BoatSpec'], ref: 'BoatSpec' },
      },
    },
    BoatSpec: { required: ['name'], order: ['name', 'crew', 'sail', 'built'], fields: specFields },
  },
};

let folder: string;
let project: string;
const put = (root: string, name: string, text: string): void => {
  mkdirSync(dirname(join(root, name)), { recursive: true });
  writeFileSync(join(root, name), text);
};
const putTable = (table: object): void =>
  put(project, 'src/api/kinds/sea/sea-v1.fields.json', tableText(table));
const readTable = (): Json =>
  JSON.parse(readFileSync(join(project, 'src/api/kinds/sea/sea-v1.fields.json'), 'utf8'));

/** This project as the tree has it, but for what a test says. */
const ours = (differences: object = {}): Json => ({
  tables: joinedTables(readOwnTables(project)),
  resources: { 'sea/v1': { boats } },
  gates: { FastSails: 'on' },
  columns: {
    Boat: [
      ['Name', 'string', 'name', 0],
      ['Crew', 'integer', '', 1],
      ['Age', 'string', '', 0],
    ],
  },
  ...differences,
});
const deprecation = 'sea-v1 Boat: deprecated in 1.41, removed in 1.44';
const linesOf = (theirs: Json, mine: Json): string[] =>
  compare(theirs, mine, { [deprecation]: 'it is known' }).map(({ line }: Json) => line);

afterEach(() => rmSync(dirname(folder), { recursive: true, force: true }));

beforeEach(() => {
  const place = mkdtempSync(join(tmpdir(), 'wherry-absorb-'));
  folder = join(place, 'checkout');
  project = join(place, 'project');
  for (const [name, text] of Object.entries(checkoutFiles)) put(folder, name, text);
  putTable(whole);
});

describe('a checkout', () => {
  it('that says what our tables say has nothing new', () => {
    const theirs = readCheckout(folder);
    expect(linesOf(theirs, ours())).toEqual([]);
    expect(writeTables(readOwnTables(project), theirs.tables)).toEqual([]);
    expect(report([])).toBe('Nothing is new.\n');
  });

  it('tells when a kind ends', () => {
    expect(compare(readCheckout(folder), ours()).map(({ line }: Json) => line)).toEqual([deprecation]);
  });

  it('tells new, changed and gone fields, and they are written', () => {
    const { sail: _, ...fields } = specFields;
    const changed = {
      ...fields,
      mast: { pb: [9, 'int32'], type: 'integer', format: 'int32' },
      name: { pb: [2, 'string'], since11: true, type: 'string' },
    };
    const spec = { order: ['name', 'crew', 'built', 'mast'], fields: changed };
    putTable({ ...whole, models: { ...whole.models, BoatSpec: spec } });
    const theirs = readCheckout(folder);
    const found = linesOf(theirs, ours());
    expect(found).toEqual([
      expect.stringMatching(/^sea-v1 BoatSpec\.name: empty is "zero", here nothing$/),
      expect.stringMatching(/^sea-v1 BoatSpec\.name: pb is \[1,"string"\], here \[2,"string"\]$/),
      expect.stringMatching(/^sea-v1 BoatSpec\.sail: new: .*"gate":"FastSails".*"pb":\[4,1,"string"\]/),
      'sea-v1 BoatSpec.sail: what it does, its default and its rules; behind the gate FastSails',
      'sea-v1 BoatSpec.mast: the field is gone',
      'sea-v1 BoatSpec: required is [name], here []',
    ]);
    expect(report(compare(theirs, ours()))).toMatch(/^New fields: 1\n {2}sea-v1 BoatSpec\.sail: new/m);
    expect(writeTables(readOwnTables(project), theirs.tables)).toHaveLength(1);
    const { BoatSpec } = readTable().models;
    expect(BoatSpec.required).toEqual(['name']);
    expect(BoatSpec.order).toEqual(['name', 'crew', 'sail', 'built', 'mast']);
    // What only we know of a field stays, and so do fields that stored objects may have.
    expect(BoatSpec.fields).toEqual({
      ...specFields,
      mast: changed.mast,
      name: { ...specFields.name, since11: true },
    });
    expect(linesOf(theirs, ours())).toEqual(['sea-v1 BoatSpec.mast: the field is gone']);
  });

  it('tells new models, versions and resources', () => {
    const { BoatSpec: _, ...models } = whole.models;
    putTable({ ...whole, models });
    const theirs = readCheckout(folder);
    expect(linesOf(theirs, ours({ resources: { 'sea/v1': {} } }))).toEqual([
      'sea-v1 BoatSpec: new: name, crew, sail, built',
      'sea/v1 boats: new: Boat, get list',
    ]);
    writeTables(readOwnTables(project), theirs.tables);
    expect(readTable().models.BoatSpec).toEqual(whole.models.BoatSpec);
    expect(linesOf(theirs, ours({ tables: {}, resources: {} }))).toEqual([
      'sea-v1: new, with 2 models',
      'sea/v1: not served here: boats',
    ]);
  });

  it('tells what became of resources, gates and columns', () => {
    const differences = {
      resources: { 'sea/v1': { boats: { ...boats, verbs: ['get'] }, rafts: boats }, 'sea/v0': {} },
      gates: { FastSails: 'free', Oars: 'on' },
      columns: { Boat: [['Name', 'string', 'name', 0]] },
    };
    expect(linesOf(readCheckout(folder), ours(differences))).toEqual([
      'sea/v1 boats: verbs is ["get","list"], here ["get"]',
      'sea/v1 rafts: not served any more',
      'sea/v0: not served any more',
      'FastSails: now in the list "on", here in "free"',
      'Oars: gone',
      expect.stringMatching(/^Boat: \[.*\["Age","string","",0\]\], here \[\["Name","string","name",0\]\]$/),
    ]);
  });
});

describe('this project', () => {
  it('has tables that are written as they are read', () => {
    for (const { path, table } of readOwnTables(root))
      expect(tableText(table)).toBe(readFileSync(path, 'utf8'));
  });

  it('tells its resources and columns', async () => {
    const { resources, columns } = await readOwnSurface(root);
    expect(resources['apps/v1'].deployments).toMatchObject({ kind: 'Deployment', shortNames: ['deploy'] });
    expect(columns.Namespace[0]).toEqual(['Name', 'string', 'name', 0]);
  });
});
