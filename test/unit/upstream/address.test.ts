import { describe, expect, test } from 'vitest';
import { forbiddenReason } from '../../../src/upstream/address.ts';

const table: [reason: string | undefined, addresses: string[]][] = [
  [
    'link-local',
    [
      ...['169.254.0.0', '169.254.169.254', '169.254.170.2', '169.254.255.255'],
      ...['fe80::1', 'FE80::1', 'fe80::1%eth0', 'fe80::a9fe:a9fe', 'febf:ffff::1', 'fe80:0:0:0:0:0:0:1'],
      ...['::ffff:169.254.169.254', '::ffff:a9fe:a9fe', '0:0:0:0:0:ffff:a9fe:a9fe', '::FFFF:A9FE:A9FE'],
      ...['::169.254.169.254', '::ffff:0:169.254.169.254', '64:ff9b::169.254.169.254', '64:ff9b::a9fe:a9fe'],
      // NAT64 with a prefix of the operator's: /96, /64, /56, /48.
      ...['64:ff9b:1::169.254.169.254', '64:ff9b:1:ffff::a9fe:a9fe', '64:ff9b:1:2:a9:fea9:fe00:0'],
      ...['64:ff9b:1:2a9:fe:a9fe::', '64:ff9b:1:a9fe:a9:fe00::'],
      '2002:a9fe:a9fe::1',
    ],
  ],
  [
    'metadata',
    [
      ...['fd00:ec2::254', 'FD00:0EC2::0254', 'fd00:ec2:0:0:0:0:0:254', 'fd00:ec2::254%lo', 'fd20:ce::254'],
      ...[
        '100.100.100.200',
        '::ffff:100.100.100.200',
        '64:ff9b::100.100.100.200',
        '64:ff9b:1::100.100.100.200',
      ],
      ...['168.63.129.16', '::ffff:168.63.129.16', '64:ff9b::a83f:8110'],
    ],
  ],
  [
    'unspecified',
    ['0.0.0.0', '0.0.0.1', '0.255.255.255', '::', '0:0:0:0:0:0:0:0', '::ffff:0.0.0.0', '64:ff9b::'],
  ],
  [
    'malformed',
    [
      ...['', 'localhost', 'example.com', '1.2.3', '1.2.3.4.5', '256.1.1.1', '0x7f.1', '127.1', '2130706433'],
      ...['1.2.3.4%eth0', ':::', '1::2::3', '::1]', '[::1]', '::1]:80/x[', 'fe80::1\n', '12345::', ' ::1'],
    ],
  ],
  [
    undefined,
    [
      ...[
        '1.1.1.1',
        '10.0.0.1',
        '172.16.0.1',
        '192.168.1.1',
        '100.64.0.1',
        '100.100.100.201',
        '168.63.129.17',
      ],
      ...['169.253.255.255', '169.255.0.0', '126.255.255.255', '128.0.0.1', '255.255.255.255'],
      ...[
        '2606:4700::1111',
        'fc00::1',
        'fd00:ec2::253',
        'fd00:ec2::1:254',
        'fec0::1',
        'fe7f::1',
        '::ffff:8.8.8.8',
      ],
      ...[
        '64:ff9b::8.8.8.8',
        '64:ff9b:1::8.8.8.8',
        '64:ff9b:1:ffff::808:808',
        '2002:808:808::1',
        '2001:db8::a9fe:a9fe',
      ],
    ],
  ],
];

const loopback = [
  ...['127.0.0.1', '127.0.0.2', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1', '::1%lo', '::ffff:127.0.0.1'],
  ...['::ffff:7f00:1', '::127.0.0.1', '::ffff:0:127.0.0.1', '64:ff9b::127.0.0.1', '64:ff9b:1::127.0.0.1'],
];

describe.each([true, false])('loopback allowed: %s', (allowLoopback) => {
  for (const [reason, addresses] of table) {
    test.each(addresses)(`%j is ${reason ?? 'allowed'}`, (address) => {
      expect(forbiddenReason(address, { allowLoopback })).toBe(reason);
    });
  }
  test.each(loopback)('%s', (address) => {
    expect(forbiddenReason(address, { allowLoopback })).toBe(allowLoopback ? undefined : 'loopback');
  });
});
