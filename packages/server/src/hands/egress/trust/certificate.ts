import { type KeyObject, randomBytes, sign } from "node:crypto";
import { isIP } from "node:net";
import { AsnConvert, OctetString } from "@peculiar/asn1-schema";
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from "@peculiar/asn1-x509";

const ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const COMMON_NAME = "2.5.4.3";
const SERIAL_BYTES = 15;
/** A clock inside may be behind. */
const EARLY_MS = 24 * 3_600_000;

interface CertificateRequest {
  readonly subject: string;
  readonly issuer: string;
  /** DER. */
  readonly subjectPublicKey: Buffer;
  readonly issuerKey: KeyObject;
  readonly lastsMs: number;
  readonly extensions: readonly Extension[];
}

/** A certificate as DER, signed by ECDSA. */
export function makeCertificate(request: CertificateRequest): Buffer {
  const { subject, issuer, subjectPublicKey, issuerKey, lastsMs, extensions } = request;
  const now = Date.now();
  // Positive, whatever the rest is.
  const serial = Buffer.concat([Buffer.from([1]), randomBytes(SERIAL_BYTES)]);
  const tbsCertificate = new TBSCertificate({
    version: Version.v3,
    serialNumber: arrayBufferOf(serial),
    signature: new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 }),
    issuer: nameOf(issuer),
    validity: new Validity({
      notBefore: new Date(now - EARLY_MS),
      notAfter: new Date(now + lastsMs),
    }),
    subject: nameOf(subject),
    subjectPublicKeyInfo: AsnConvert.parse(subjectPublicKey, SubjectPublicKeyInfo),
    extensions: new Extensions([...extensions]),
  });
  const signature = sign("sha256", Buffer.from(AsnConvert.serialize(tbsCertificate)), issuerKey);
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: new AlgorithmIdentifier({ algorithm: ECDSA_WITH_SHA256 }),
    signatureValue: arrayBufferOf(signature),
  });
  return Buffer.from(AsnConvert.serialize(certificate));
}

/** Of an authority that signs servers' certificates alone. */
export function authorityExtensions(keyId: Buffer): Extension[] {
  return [
    extension(id_ce_basicConstraints, new BasicConstraints({ cA: true, pathLenConstraint: 0 })),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign)),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyId), false),
  ];
}

/** Of a server at one name or address. */
export function serverExtensions(host: string, authorityKeyId: Buffer): Extension[] {
  const name = new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host });
  const keyIdentifier = new KeyIdentifier(authorityKeyId);
  return [
    extension(id_ce_basicConstraints, new BasicConstraints({})),
    extension(id_ce_keyUsage, new KeyUsage(KeyUsageFlags.digitalSignature)),
    extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth]), false),
    extension(id_ce_authorityKeyIdentifier, new AuthorityKeyIdentifier({ keyIdentifier }), false),
    extension(id_ce_subjectAltName, new SubjectAlternativeName([name]), false),
  ];
}

export function pemOf(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

function extension(extnID: string, value: object, critical = true): Extension {
  return new Extension({
    extnID,
    critical,
    extnValue: new OctetString(AsnConvert.serialize(value)),
  });
}

function nameOf(commonName: string): Name {
  const value = new AttributeValue({ utf8String: commonName });
  return new Name([
    new RelativeDistinguishedName([new AttributeTypeAndValue({ type: COMMON_NAME, value })]),
  ]);
}

function arrayBufferOf(bytes: Buffer): ArrayBuffer {
  const copy = new ArrayBuffer(bytes.length);
  new Uint8Array(copy).set(bytes);
  return copy;
}
