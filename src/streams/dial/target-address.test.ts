/** Which addresses the server dials for users: no loopback, link-local or other special address, however written. */
import { describe, expect, it } from 'vitest';
import { allowedAddresses, isAllowedTarget } from './target-address.ts';

describe('addresses', () => {
  // Proves that ordinary addresses, including private ones, are dialled.
  for (const address of [
    '10.1.2.3',
    '192.168.0.1',
    '172.17.0.2',
    '100.64.0.1',
    '8.8.8.8',
    '240.0.0.1',
    '2001:db8::1',
    'fd00::1',
    '::ffff:10.0.0.1',
    '::ffff:a00:1',
    '64:ff9b::8.8.8.8',
    '2002:808:808::1',
    // Teredo: the server 8.8.8.8, the client 8.8.4.4 with its bits inverted.
    '2001:0:808:808::f7f7:fbfb',
    '2001:db8::5efe:10.0.0.1',
    '100.100.100.201',
    'fd00:ec3::254',
  ])
    it(`allows ${address}`, () => expect(isAllowedTarget(address)).toBe(true));

  // Proves that special addresses are refused in every spelling.
  for (const address of [
    '127.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0.1.2.3',
    '169.254.169.254',
    '224.0.0.1',
    '239.255.255.250',
    '255.255.255.255',
    '::',
    '::1',
    '0:0:0:0:0:0:0:1',
    'fe80::1',
    'febf::1',
    'fe80::1%eth0',
    '2001:db8::1%eth0',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::FFFF:169.254.169.254',
    '0:0:0:0:0:ffff:7f00:0001',
    '::127.0.0.1',
    '::ffff:0:127.0.0.1',
    '64:ff9b::169.254.169.254',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2002:a9fe:a9fe::1',
    '64:ff9b:1::a9fe:a9fe',
    '64:ff9b:1:a9fe:a9:fe00::',
    // Teredo, with the client 169.254.169.254, then with that as its server.
    '2001:0:808:808::5601:5601',
    '2001:0:a9fe:a9fe::f7f7:fbfb',
    // ISATAP
    '2001:db8::5efe:169.254.169.254',
    '2001:db8::200:5efe:7f00:1',
    // Metadata services of clouds, which hand out credentials.
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    'fd00:ec2::254',
    'fd00:ec2::23',
    'fd20:ce::254',
    'fd00:42::42',
    'fd00:c1::a9fe:a9fe',
    '::ffff:100.100.100.200',
    '64:ff9b::100.100.100.200',
    '2002:6464:64c8::',
    // Not an address, or parsed differently by different readers.
    '',
    '127.1',
    '0177.0.0.1',
    '010.0.0.1',
    '2130706433',
    '0x7f000001',
    'localhost',
    '10.0.0.1:80',
    '[::1]',
    ' 10.0.0.1',
    '10.0.0.1\n',
  ])
    it(`refuses ${JSON.stringify(address)}`, () => expect(isAllowedTarget(address)).toBe(false));
});

describe('host names', () => {
  it('are resolved once, and one bad address refuses all', async () => {
    // Proves that a name cannot resolve to an address that would be refused.
    let asked = 0;
    const answer = (addresses: string[]) => async () => {
      asked++;
      return addresses;
    };
    expect(await allowedAddresses('n1', answer(['10.0.0.1', 'fd00::1']))).toEqual(['10.0.0.1', 'fd00::1']);
    expect(asked).toBe(1);
    const refused = { message: 'address not allowed', code: 400 };
    await expect(allowedAddresses('n1', answer(['10.0.0.1', '127.0.0.1']))).rejects.toMatchObject(refused);
    await expect(allowedAddresses('n1', answer([]))).rejects.toMatchObject(refused);
    await expect(allowedAddresses('127.0.0.1', answer(['10.0.0.1']))).rejects.toMatchObject(refused);
  });

  it('that mean this machine are refused by what they resolve to', async () => {
    // Proves that the system's resolver is used.
    await expect(allowedAddresses('localhost')).rejects.toMatchObject({ message: 'address not allowed' });
  });

  it('that mean nothing are told in the words of Go', async () => {
    // Proves that a failed lookup has the message that kubectl users know.
    await expect(allowedAddresses('nowhere.invalid')).rejects.toThrow(
      /^dial tcp: lookup nowhere\.invalid: (no such host|i\/o timeout)$/,
    );
  });
});
