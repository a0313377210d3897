/**
 * OCI images on disk: finds the layers of an image. Supported are an OCI image layout (`oci-layout`, `index.json`,
 * `blobs`) and the output of `docker save` (`manifest.json`).
 */
import { lstat, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isJsonObject } from '../../../api/text/object.ts';
import { goArch, goOs } from '../../machine/machine.ts';

const documentBytesMax = 4 * 1024 * 1024;
const layersMax = 1024;
/** Maximum depth of indexes inside indexes. */
const depthMax = 4;
const layerTypes = /^application\/vnd\.(oci\.image|docker\.image\.rootfs)\..*\btar\b/;

/**
 * Paths of the layers, the lowest first; undefined when the folder is not an image but contains the files themselves.
 */
export async function layersOf(folder: string): Promise<string[] | undefined> {
  const isThere = (name: string): Promise<boolean> =>
    stat(join(folder, name)).then(
      (stats) => stats.isFile(),
      () => false,
    );
  if ((await isThere('oci-layout')) && (await isThere('index.json'))) return layoutLayers(folder);
  if (await isThere('manifest.json')) return savedLayers(folder);
  return undefined;
}

async function layoutLayers(folder: string): Promise<string[]> {
  let document = await readDocument(join(folder, 'index.json'));
  for (let depth = 0; Array.isArray(document['manifests']); depth++) {
    if (depth >= depthMax) throw new Error('its indexes are nested too deeply');
    document = await readDocument(blobPath(folder, chosenManifest(document['manifests'])));
  }
  const { layers } = document;
  if (!Array.isArray(layers) || layers.length > layersMax)
    throw new Error('its manifest has no valid layers');
  return layers.map((layer: unknown) => {
    const type = isJsonObject(layer) ? layer['mediaType'] : undefined;
    if (typeof type !== 'string' || !layerTypes.test(type))
      throw new Error(`a layer has the type ${JSON.stringify(type)}, which is not a tar archive`);
    return blobPath(folder, layer);
  });
}

/** The manifest for this machine; a manifest without a platform fits all. */
function chosenManifest(manifests: readonly unknown[]): unknown {
  const fits = (one: unknown): boolean => {
    const platform = isJsonObject(one) ? one['platform'] : undefined;
    if (!isJsonObject(platform)) return true;
    return platform['os'] === goOs() && platform['architecture'] === goArch();
  };
  const found = manifests.find(fits);
  if (!found) throw new Error(`it has no manifest for ${goOs()}/${goArch()}`);
  return found;
}

function blobPath(folder: string, descriptor: unknown): string {
  const digest = isJsonObject(descriptor) ? descriptor['digest'] : undefined;
  const [, algorithm, hex] = /^(sha256|sha512):([0-9a-f]{64,128})$/.exec(String(digest)) ?? [];
  if (!algorithm) throw new Error(`${JSON.stringify(digest)} is not a digest`);
  return join(folder, 'blobs', algorithm, hex!);
}

async function savedLayers(folder: string): Promise<string[] | undefined> {
  const saved: unknown = JSON.parse(await readText(join(folder, 'manifest.json')));
  const [first] = Array.isArray(saved) ? saved : [];
  const layers = isJsonObject(first) ? first['Layers'] : undefined;
  // Not an image: its files may include one of that name, too.
  if (!Array.isArray(layers)) return undefined;
  if (layers.length > layersMax) throw new Error('it has too many layers');
  return layers.map((layer: unknown) => {
    const isInside = typeof layer === 'string' && !layer.startsWith('/') && !layer.split('/').includes('..');
    if (!isInside) throw new Error(`${JSON.stringify(layer)} is not the path of a layer`);
    return join(folder, layer);
  });
}

async function readDocument(path: string): Promise<Record<string, unknown>> {
  const document: unknown = JSON.parse(await readText(path));
  if (!isJsonObject(document)) throw new Error(`${path} is not a JSON object`);
  return document;
}

async function readText(path: string): Promise<string> {
  // Links are refused: a link in an archive could lead anywhere.
  const stats = await lstat(path);
  if (!stats.isFile() || stats.size > documentBytesMax)
    throw new Error(`${path} is not a file of a valid size`);
  return readFile(path, 'utf8');
}
