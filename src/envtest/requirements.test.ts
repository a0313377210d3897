/** Proves what is said about flags that do not fit together, in kube-apiserver's words. */
import { describe, expect, it } from 'vitest';
import { readApiServerFlags } from './apiserver-flags.ts';
import { problemsOf } from './requirements.ts';
import { runtimeConfigOf } from './runtime-config-flag.ts';

const enough = [
  '--etcd-servers=http://127.0.0.1:1',
  '--service-account-issuer=a',
  '--service-account-key-file=b',
  '--service-account-signing-key-file=c',
];
const problems = (...more: string[]): string[] => problemsOf(readApiServerFlags([...enough, ...more]));

describe('the flags of kube-apiserver', () => {
  it('are enough as envtest gives them', () => {
    expect(problems()).toEqual([]);
  });

  it('name everything that is missing', () => {
    expect(problemsOf(readApiServerFlags([]))).toEqual([
      '--etcd-servers must be specified',
      'service-account-issuer is a required flag',
      'either `--service-account-key-file` or `--service-account-signing-endpoint` must be set',
      '--service-account-signing-key-file and --service-account-issuer are required flags',
    ]);
  });

  it.each([
    [
      '--secure-port=-1',
      '--secure-port -1 must be between 1 and 65535, inclusive. It cannot be turned off with 0',
    ],
    ['--service-cluster-ip-range=nonsense', 'service-cluster-ip-range[0] is not a valid cidr'],
    [
      '--service-cluster-ip-range=10.0.0.0/24,10.0.1.0/24',
      '--service-cluster-ip-range[0] and --service-cluster-ip-range[1] must be of different IP family',
    ],
    [
      '--service-cluster-ip-range=10.0.0.0/24,fd00::/108,10.0.1.0/24',
      '--service-cluster-ip-range must not contain more than two entries',
    ],
    [
      '--storage-backend=etcd2',
      "--storage-backend invalid, allowed values: etcd3. If not specified, it will default to 'etcd3'",
    ],
    ['--tls-private-key-file=x', 'missing filename for serving cert'],
    ['--feature-gates=Nope=true', 'unrecognized feature gate: Nope'],
    ['--feature-gates=CPUCFSQuotaPeriod=true', 'unrecognized feature gate: CPUCFSQuotaPeriod'],
    [
      '--feature-gates=GitRepoVolumeDriver=true',
      'cannot set feature gate GitRepoVolumeDriver to true, feature is locked to false',
    ],
    ['--feature-gates=kube:Nope=true', 'unrecognized feature gate: Nope'],
    // Its name ends with small letters, unlike that of its constant.
    [
      '--feature-gates=RuntimeClassInImageCriAPI=true',
      'unrecognized feature gate: RuntimeClassInImageCriAPI',
    ],
    [
      '--feature-gates=SidecarContainers=false',
      'cannot set feature gate SidecarContainers to false, feature is locked to true',
    ],
    [
      '--feature-gates=WatchList=maybe',
      'invalid value of WatchList=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    ['--runtime-config=foo/v1=true', 'unknown api groups foo/v1'],
    ['--runtime-config=api/all=false', 'invalid key with only api/all=false'],
    [
      '--runtime-config=apps/v1=maybe',
      'invalid value of apps/v1: maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
    ],
    ['--authorization-mode=RBAC,Foo', 'authorization-mode "Foo" is not a valid mode'],
    ['--disable-admission-plugins=Foo', 'disable-admission-plugins plugin "Foo" is unknown'],
    ['--enable-admission-plugins=Foo', 'enable-admission-plugins plugin "Foo" is unknown'],
    ['--service-account-signing-endpoint=x', '--service-account-signing-endpoint is not supported here'],
  ])('%s: %s', (flag, problem) => {
    expect(problems(flag)).toEqual([problem]);
  });

  it('are accepted where the names are known', () => {
    expect(
      problems(
        '--feature-gates=WatchList=true,kube:AllAlpha=false',
        '--feature-gates=SidecarContainers=true,CustomCPUCFSQuotaPeriod=false,PodsAPI=true',
        '--runtime-config=api/beta,batch/v1=false',
      ),
    ).toEqual([]);
  });

  it('switch versions off and on', () => {
    const values = readApiServerFlags(['--runtime-config=api/beta,batch/v1=false', '--runtime-config=v1=1']);
    expect(runtimeConfigOf(values)).toEqual({ 'api/beta': true, 'batch/v1': false, v1: true });
  });
});
