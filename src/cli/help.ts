/** The text of `wherry --help`. */
import { auditHelp } from './audit-flags.ts';
import { authenticationHelp } from './authentication-flags.ts';
import { admissionHelp, authorizationHelp } from './authorization-flags.ts';
import { assetsHelp } from './envtest-flags.ts';
import { kubeconfigHelp } from './kubeconfig-flags.ts';
import { limitHelp } from './limit-options.ts';
import { protectionHelp } from './protection-flags.ts';
import { cleanupHelp, runtimeHelp } from './runtime-flags.ts';
import { secureHelp } from './secure-flags.ts';
import { storeHelp } from './store-flags.ts';
import { testHelp } from './test-flags.ts';
import { testingHelp } from './testing-flags.ts';
import { tokenHelp } from './token-flags.ts';

export const help = `Usage: wherry <command> [options]

Commands
  up       run the cluster: API server, controllers, and this machine as a node
  serve    run the API server, with the controllers that keep house for it
  node     run this machine as a node of a server elsewhere
  backup   write all objects of a running server to a file: wherry backup FILE
  restore  make a data folder from such a file, or fill an etcd: wherry restore FILE
  token    make, list and delete the tokens that nodes join with: wherry token create|list|delete
  kubeconfig
           print a kubeconfig for the administrator or any user of the secure door
  test     run a command against a fresh cluster: wherry test [options] -- COMMAND…
  cleanup  remove the containers that a cluster has left in a container engine
  envtest  write etcd, kube-apiserver and kubectl for test suites that start these: wherry envtest FOLDER

Options of up and serve
  --port PORT           port for plain HTTP; 0 takes any free one, off none (default 8080)
  --host HOST           loopback address for plain HTTP (default 127.0.0.1)
${secureHelp}  --data-dir FOLDER     where objects, pods and logs are kept (default .wherry)
${storeHelp}  --history AGE,COUNT   how long and how many changes are kept for watches (default 10m,50000)
  --like KIND           kubernetes: do as today's Kubernetes where Wherry's contract, the API of 1.1, differs;
                        the same as --create-status 201 --watch-start state
  --watch-start WHERE   where a watch without a version begins: history or state (default history)
  --create-status CODE  HTTP code of a create: 200 or 201 (default 200)
  --managed-fields MODE whose writes metadata.managedFields names: all, those since an object was applied
                        (applied), or off (default all)
  --runtime-config LIST switch built-in versions off and on: apps/v1=false, api/beta=false, batch/v1/jobs=false
  --ui MODE             the page that shows the cluster in a browser, at / and /ui/: on or off (default on)
  --service-cluster-ip-range RANGE
                        addresses that services get: a range, or one of IPv4 and one of IPv6, as in
                        10.0.0.0/24,fd00::/108 (default 10.0.0.0/24)
  --service-node-port-range FIRST-LAST
                        ports that services get on every node (default 30000-32767)
${auditHelp}${protectionHelp}  --controllers LIST    which controllers run: names, * for all, housekeeping for those the API needs, none, or -name
                        for the default without that one (default: up *, serve housekeeping)
  --leader-elect        agree with other servers on the same store about who runs the controllers (always done with
                        --store etcd)
  --service-account-token-secrets
                        make a secret with a token for every account, as Kubernetes 1.1 did
${testingHelp}
Users of the secure door
${authenticationHelp}
What users of the secure door may do
${authorizationHelp}
Admission
${admissionHelp}
Limits of up and serve
${limitHelp}
Options of up
  --ingress-port PORT   let traffic reach services as ingresses say, on this port
  --ingress-tls-port PORT
                        the same over HTTPS, with certificates from secrets
  --simulated-nodes N   nodes that only pretend to run pods, instead of this machine
  --default-storage-class NAME
                        local-path: claims that name no class get a folder on the node's disk; off: no class is made
                        (default local-path)

Options of node
  --server URL          the server the node belongs to, such as http://127.0.0.1:8080
  --token TOKEN         with which the node joins a server over https; wherry token create prints the whole command
  --ca-hash HASH        sha256: and the hash of the key of the cluster's authority, which proves that the server is it
  --ca-file FILE        the cluster's authority itself, instead of asking the server for it
  --data-dir FOLDER     where pods, logs and the certificates of the node are kept (default .wherry)
  --service-cluster-ip-range RANGE
                        addresses that services get, as the server has it (default 10.0.0.0/24)

Options of up and node
  --node-name NAME      name of the node (default: the name of the machine)
  --images FILE         maps names of images to commands
${runtimeHelp}  --volumes FOLDER      where volumes for claims are made (default: volumes in the data folder)
  --log-links FOLDER    make links to the logs of containers in FOLDER/pods and FOLDER/containers, as log
                        shippers expect them in /var/log
  --pod-network KIND    netns: each pod has an address of its own (Linux, as root); host: pods share the
                        machine's network; auto: the best this machine allows (default auto)
  --pod-range RANGE     addresses of pods that have their own (default 10.217.0.0/16)
  --kubelet-port PORT   port of the node agent, over TLS (default: up none, node 10250)

Options of backup
  --server URL          the server to back up (default http://127.0.0.1:8080)

Options of restore
  --data-dir FOLDER     the folder to make; it must not hold objects yet (default .wherry)
  --store etcd          restore into an etcd, with the --etcd-… options of serve; it must not hold objects under the
                        prefix yet

Options of token
${tokenHelp}
Options of kubeconfig
${kubeconfigHelp}
Options of test
${testHelp}
Options of cleanup
${cleanupHelp}
Options of envtest
${assetsHelp}
Options of up, serve, node and test
  --log-level LEVEL     what is logged on standard error: silent, error, warn, info (the configuration in force,
                        nodes that join, events of pods, slow requests) or debug (every request) (default warn)
  --log-format FORMAT   json: a JSON object per line; text: a line for people (default json)

Options of all
  --version             print the version
  --help                print this text
`;
