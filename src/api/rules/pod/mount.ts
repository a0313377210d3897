/** Mounts: the volumes of a pod as a container sees them, as folders and as block devices. */
import {
  child,
  forbidden,
  index,
  invalid,
  notFound,
  notSupported,
  required,
} from '../../errors/field-error.ts';
import type { Container, Volume, VolumeDevice, VolumeMount } from '../../generated/types.ts';
import { isRelativePath } from '../../values/names.ts';
import { type Findings, problemsOf } from '../shared/findings.ts';

const propagations = ['Bidirectional', 'HostToContainer', 'None'];
const recursions = ['Disabled', 'Enabled', 'IfPossible'];

/** `volumes` holds the pod's volumes that passed validation. */
export function* mountErrors(
  container: Container,
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): Findings {
  const mounts = container.volumeMounts ?? [];
  const devices = container.volumeDevices ?? [];
  yield* folderErrors(container, mounts, devices, volumes, child(path, 'volumeMounts'));
  yield* deviceErrors(mounts, devices, volumes, child(path, 'volumeDevices'));
}

function* folderErrors(
  container: Container,
  mounts: readonly VolumeMount[],
  devices: readonly VolumeDevice[],
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): Findings {
  const seen = new Set<string>();
  const deviceNames = new Set(devices.map((device) => device.name ?? ''));
  const devicePaths = new Set(devices.map((device) => device.devicePath ?? ''));
  for (const [i, mount] of mounts.entries()) {
    const { name = '', mountPath = '' } = mount;
    const namePath = child(index(path, i), 'name');
    const mountPathPath = child(index(path, i), 'mountPath');
    if (!name) yield required(namePath);
    if (!volumes.has(name)) yield notFound(namePath, name);
    if (!mountPath) yield required(mountPathPath);
    if (seen.has(mountPath)) yield invalid(mountPathPath, mountPath, 'must be unique');
    seen.add(mountPath);
    if (deviceNames.has(name)) yield invalid(namePath, name, 'must not already exist in volumeDevices');
    if (devicePaths.has(mountPath))
      yield invalid(mountPathPath, mountPath, 'must not already exist as a path in volumeDevices');
    yield* subPathErrors(mount, path, index(path, i));
    yield* propagationErrors(mount, container, path);
  }
}

/** Some of these errors name the list and not the entry, as in Kubernetes. */
function* subPathErrors(mount: VolumeMount, path: string, entry: string): Findings {
  const { subPath, subPathExpr } = mount;
  if (subPath) yield* problemsOf(child(path, 'subPath'), subPath, isRelativePath(subPath));
  if (!subPathExpr) return;
  if (subPath)
    yield invalid(child(entry, 'subPathExpr'), subPathExpr, 'subPathExpr and subPath are mutually exclusive');
  yield* problemsOf(child(path, 'subPathExpr'), subPathExpr, isRelativePath(subPathExpr));
}

function* propagationErrors(mount: VolumeMount, container: Container, path: string): Findings {
  const { mountPropagation: propagation, recursiveReadOnly: recursion } = mount;
  const propagationPath = child(path, 'mountPropagation');
  if (propagation !== undefined && !propagations.includes(propagation))
    yield notSupported(propagationPath, propagation, propagations);
  if (propagation === 'Bidirectional' && !container.securityContext?.privileged)
    yield forbidden(
      propagationPath,
      'Bidirectional mount propagation is available only to privileged containers',
    );
  if (recursion === undefined || recursion === 'Disabled') return;
  const recursionPath = child(path, 'recursiveReadOnly');
  if (!recursions.includes(recursion)) return yield notSupported(recursionPath, recursion, recursions);
  if (!mount.readOnly) yield forbidden(recursionPath, 'may only be specified when readOnly is true');
  if (propagation !== undefined && propagation !== 'None')
    yield forbidden(recursionPath, 'may only be specified when mountPropagation is None or not specified');
}

function* deviceErrors(
  mounts: readonly VolumeMount[],
  devices: readonly VolumeDevice[],
  volumes: ReadonlyMap<string, Volume>,
  path: string,
): Findings {
  const names = new Set<string>();
  const paths = new Set<string>();
  const mountNames = new Set(mounts.map((mount) => mount.name ?? ''));
  const mountPaths = new Set(mounts.map((mount) => mount.mountPath ?? ''));
  for (const [i, { name = '', devicePath = '' }] of devices.entries()) {
    const namePath = child(index(path, i), 'name');
    const devicePathPath = child(index(path, i), 'devicePath');
    const volume = volumes.get(name);
    if (!name) yield required(namePath);
    if (names.has(name)) yield invalid(namePath, name, 'must be unique');
    if (!volume) yield notFound(namePath, name);
    else if (!volume.persistentVolumeClaim && !volume.ephemeral)
      yield invalid(
        namePath,
        name,
        'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode',
      );
    if (!devicePath) yield required(devicePathPath);
    if (paths.has(devicePath)) yield invalid(devicePathPath, devicePath, 'must be unique');
    if (devicePath.split('/').includes('..'))
      yield invalid(devicePathPath, devicePath, "can not contain backsteps ('..')");
    else paths.add(devicePath);
    if (mountNames.has(name)) yield invalid(namePath, name, 'must not already exist in volumeMounts');
    if (mountPaths.has(devicePath))
      yield invalid(devicePathPath, devicePath, 'must not already exist as a path in volumeMounts');
    if (name) names.add(name);
  }
}
