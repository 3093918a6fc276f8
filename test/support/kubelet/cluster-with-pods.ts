import { type Cluster, clusterAt } from '../cluster.ts';
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '../control-plane.ts';
import { startGuard } from '../guard.ts';
import { type Kubelet, startKubelet } from './kubelet.ts';

/** A control plane whose Deployments, Jobs and Services come alive. */
export interface ClusterWithPods extends AsyncDisposable {
  readonly plane: ControlPlane;
  readonly cluster: Cluster;
  readonly kubelet: Kubelet;
  /** What the kubelet had to say, for a test that fails. */
  readonly said: readonly string[];
}

const controllers = [
  'deployment-controller',
  'replicaset-controller',
  'job-controller',
  'endpointslice-controller',
  'disruption-controller',
  'serviceaccount-controller',
  'root-ca-certificate-publisher-controller',
  'clusterrole-aggregation-controller',
];

/** Starts a control plane of its own (about 5 seconds): the real API server and controllers, and a kubelet of ours. */
export async function startClusterWithPods(options: ControlPlaneOptions = {}): Promise<ClusterWithPods> {
  const plane = await startControlPlane({
    ...options,
    // Unlike elsewhere its controllers run here, so that pods get their tokens as everywhere: by admission.
    apiServerFlags: { 'disable-admission-plugins': '', ...options.apiServerFlags },
  });
  const guard = startGuard();
  const cluster = clusterAt(plane);
  const said: string[] = [];
  let kubelet: Kubelet | undefined;
  const dispose = async () => {
    await kubelet?.stop();
    await plane.stop();
    guard.release();
  };
  try {
    await plane.startControllerManager(controllers);
    kubelet = startKubelet({
      address: plane,
      client: cluster.client,
      guard,
      say: (line) => said.push(`${new Date().toISOString().slice(11, 23)} ${line}`),
    });
  } catch (error) {
    await dispose();
    throw error;
  }
  return { plane, cluster, kubelet, said, [Symbol.asyncDispose]: dispose };
}
