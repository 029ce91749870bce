# SPDX-License-Identifier: Apache-2.0
"""pki: the cluster's certificate authority, certificates and kubeconfigs."""

import datetime
import ipaddress
import os

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from paths import NODE, NODE_IP, PKI, SERVER, SERVICE_IP, STATE, write

CA = os.path.join(PKI, "ca.crt")


def path_of(name, kind):
    return os.path.join(PKI, f"{name}.{kind}")


def key_new(name):
    key = ec.generate_private_key(ec.SECP256R1())
    write(path_of(name, "key"), key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption()).decode())
    return key


def certificate_write(name, key, subject, issuer, signer, extensions):
    now = datetime.datetime.utcnow()
    builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer)
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now - datetime.timedelta(hours=1))
               .not_valid_after(now + datetime.timedelta(days=30)))
    for extension, is_critical in extensions:
        builder = builder.add_extension(extension, is_critical)
    certificate = builder.sign(signer, hashes.SHA256())
    write(path_of(name, "crt"), certificate.public_bytes(serialization.Encoding.PEM).decode())


def name_of(user, groups=()):
    attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*attributes, x509.NameAttribute(NameOID.COMMON_NAME, user)])


def authority_new():
    key = key_new("ca")
    name = name_of("vgpu-e2e")
    certificate_write("ca", key, name, name, key, [(x509.BasicConstraints(True, None), True)])


def certificate(name, user=None, groups=(), hosts=("localhost", "127.0.0.1")):
    """A key and a certificate, for a client and a server alike; gives their paths."""
    with open(path_of("ca", "key"), "rb") as file:
        signer = serialization.load_pem_private_key(file.read(), None)
    alternatives = []
    for host in hosts:
        try:
            alternatives.append(x509.IPAddress(ipaddress.ip_address(host)))
        except ValueError:
            alternatives.append(x509.DNSName(host))
    uses = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
    certificate_write(name, key_new(name), name_of(user or name, groups), name_of("vgpu-e2e"), signer,
                      [(x509.SubjectAlternativeName(alternatives), False),
                       (x509.ExtendedKeyUsage(uses), False)])
    return path_of(name, "crt"), path_of(name, "key")


def kubeconfig(name, user, groups=()):
    """Lets a program speak to the API server as a user."""
    crt, key = certificate(name, user, groups)
    return write(os.path.join(STATE, f"{name}.kubeconfig"), f"""\
apiVersion: v1
kind: Config
current-context: e2e
clusters:
- {{name: e2e, cluster: {{server: {SERVER}, certificate-authority: {CA}}}}}
users:
- {{name: e2e, user: {{client-certificate: {crt}, client-key: {key}}}}}
contexts:
- {{name: e2e, context: {{cluster: e2e, user: e2e}}}}
""")


def make():
    """All that the components are started with."""
    authority_new()
    key_new("service-accounts")
    certificate("etcd")
    certificate("kube-apiserver", hosts=("localhost", "127.0.0.1", NODE_IP, SERVICE_IP, NODE, "kubernetes",
                                         "kubernetes.default", "kubernetes.default.svc"))
    certificate("kubelet-client", "kube-apiserver", ["system:masters"])
    certificate("kubelet-server", f"system:node:{NODE}", ["system:nodes"], (NODE, "127.0.0.1", NODE_IP))
    certificate("kueue-server", hosts=("kueue-webhook-service.kueue-system.svc", "127.0.0.1"))
    kubeconfig("admin", "admin", ["system:masters"])
    kubeconfig("kube-controller-manager", "system:kube-controller-manager")
    kubeconfig("kube-scheduler", "system:kube-scheduler")
    kubeconfig("kubelet", f"system:node:{NODE}", ["system:nodes"])
    kubeconfig("kueue", "system:serviceaccount:kueue-system:kueue-controller-manager")
    kubeconfig("volcano", "system:serviceaccount:volcano-system:volcano-scheduler")
    kubeconfig("volcano-controllers", "system:serviceaccount:volcano-system:volcano-controllers")
