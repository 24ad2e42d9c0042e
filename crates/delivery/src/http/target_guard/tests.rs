use super::*;

fn guard(allowed: &[&str]) -> TargetGuard {
    TargetGuard::new(allowed.iter().map(|net| net.parse().unwrap()).collect(), false)
}

/// Judges as for a request: the text first, then the host's addresses.
async fn is_refused(guard: &TargetGuard, url: &str) -> bool {
    guard.judge_endpoint(url).await.is_err()
}

#[tokio::test]
async fn every_spelling_of_an_internal_address_is_refused() {
    let guard = guard(&[]);
    for url in [
        "https://127.0.0.1/",
        "https://127.1/",
        "https://127.0.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://0x7f.1/",
        "https://017700000001/",
        "https://0177.0.0.1/",
        "https://127.0.0.1./",
        "https://①②⑦.⓪.⓪.①/",
        "https://127。0。0。1/",
        "https://%31%32%37.0.0.1/",
        "https://[::1]/",
        "https://[::]/",
        "https://[0:0:0:0:0:0:0:1]/",
        "https://[::ffff:7f00:1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://[::7f00:1]/",
        "https://[::ffff:a9fe:a9fe]/",
        "https://[64:ff9b::7f00:1]/",
        "https://[64:ff9b:1::1]/",
        "https://[2002:7f00:1::]/",
        "https://[2001:0:1::1]/",
        "https://[2001:2::1]/",
        "https://[2001:10::1]/",
        "https://[2001:20::1]/",
        "https://[::ffff:0:7f00:1]/",
        "https://[::ffff:0:5db8:d70e]/",
        "https://[1fff:ffff::1]/",
        "https://[4000::1]/",
        "https://[fec0::1]/",
        "https://[fe80::1]/",
        "https://[fd00:ec2::254]/",
        "https://[ff02::1]/",
        "https://[5f00::1]/",
        "https://[3fff::1]/",
        "https://[100::1]/",
        "https://[2001:db8::1]/",
        "https://[::1%25lo]/",
        "https://0/",
        "https://0.0.0.0/",
        "https://10.1.2.3/",
        "https://100.64.0.1/",
        "https://168.63.129.16/",
        "https://169.254.169.254/latest/meta-data",
        "https://172.31.255.255/",
        "https://192.0.0.8/",
        "https://192.168.1.1/",
        "https://198.19.0.1/",
        "https://224.0.0.1/",
        "https://255.255.255.255/",
        "https://localhost/",
        "https://localhost./",
        "https://LOCALHOST:8443/",
        "https://user@example.com/",
        "https://user:password@93.184.215.14/",
        "https://:password@93.184.215.14/",
        "https://8.8.8.8@127.0.0.1/",
        "https://",
        "https://./",
        "http://93.184.215.14/",
        "ftp://93.184.215.14/",
        "file:///etc/passwd",
        "gopher://93.184.215.14/",
        "javascript:alert(1)",
        "data:text/plain,x",
        "93.184.215.14",
        "",
        "https://93.184.215.14/\u{0}",
    ] {
        assert!(is_refused(&guard, url).await, "{url}");
    }
}

#[tokio::test]
async fn public_addresses_and_names_that_do_not_resolve_are_accepted() {
    let guard = guard(&[]);
    for url in [
        "https://93.184.215.14/hook",
        "https://93.184.215.14:8443/a/b?c=d",
        "HTTPS://[2606:2800:21f:cb07:6820:80da:af6b:8b2c]/",
        "https://[::ffff:93.184.215.14]/",
        "https://shop.invalid/hook",
    ] {
        assert!(!is_refused(&guard, url).await, "{url}");
    }
}

#[tokio::test]
async fn allowed_targets_open_what_they_name_and_plain_http_to_it() {
    let guard = guard(&["127.0.0.0/8", "10.0.0.0/8", "fd00::/8"]);
    for url in [
        "http://127.0.0.1:8080/",
        "https://127.8.8.8/",
        "http://10.1.2.3/",
        "http://[::ffff:127.0.0.1]/",
        "http://[fd12::1]/",
        "http://localhost:3000/",
    ] {
        assert!(!is_refused(&guard, url).await, "{url}");
    }
    for url in [
        "http://192.168.0.1/",
        "http://93.184.215.14/",
        "https://[::1]/",
        "https://[fd00:ec2::254]/",
        // It does not resolve, so it is no allowed target.
        "http://shop.invalid/",
    ] {
        assert!(is_refused(&guard, url).await, "{url}");
    }
    assert!(!is_refused(&guard, "https://shop.invalid/").await);
    let open = TargetGuard::new(Vec::new(), true);
    assert!(!is_refused(&open, "http://shop.invalid/").await);
    assert!(Refused.to_string().contains("HEADGATE_ALLOW_HTTP"));
}

#[tokio::test]
async fn metadata_services_stay_closed_until_named_exactly() {
    let wide = guard(&["0.0.0.0/0", "::/0", "169.254.0.0/16"]);
    for url in [
        "http://169.254.169.254/",
        "http://168.63.129.16/",
        "http://100.100.100.200/",
        "http://[fe80::1]/",
        "http://[fd00:ec2::254]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[::169.254.169.254]/",
        "http://[::ffff:0:a9fe:a9fe]/",
    ] {
        assert!(is_refused(&wide, url).await, "{url}");
    }
    assert!(!is_refused(&wide, "http://192.168.0.1/").await);
    let exact = guard(&["169.254.169.254/32"]);
    assert!(!is_refused(&exact, "http://169.254.169.254/").await);
    assert!(is_refused(&exact, "http://169.254.169.253/").await);
}

#[test]
fn plain_http_to_public_addresses_is_a_setting() {
    let open = TargetGuard::new(Vec::new(), true);
    let url = |text: &str| parse(text).unwrap();
    assert_eq!(open.judge_url(&url("http://93.184.215.14/")), Ok(Transport::Plain));
    assert_eq!(open.judge_url(&url("http://10.0.0.1/")), Err(Refused));
    assert_eq!(guard(&[]).judge_url(&url("http://shop.invalid/")), Err(Refused));
}

#[test]
fn one_forbidden_address_refuses_all_a_name_resolves_to() {
    let guard = guard(&["127.0.0.0/8"]);
    let at =
        |ips: &[&str]| ips.iter().map(|ip| SocketAddr::new(ip.parse().unwrap(), 443)).collect::<Vec<_>>();
    let admit = |name: &str, ips: &[&str]| guard.admit(name, at(ips), Transport::Tls);
    assert_eq!(admit("shop.test", &["93.184.215.14", "10.0.0.1"]), Err(Refused));
    assert_eq!(admit("shop.test", &["93.184.215.14", "1.1.1.1"]), Ok(at(&["93.184.215.14", "1.1.1.1"])));
    assert_eq!(admit("shop.test", &[]), Err(Refused));
    // `localhost` means both loopbacks; the allowed one is used.
    assert_eq!(admit("LocalHost.", &["::1", "127.0.0.1"]), Ok(at(&["127.0.0.1"])));
    assert_eq!(admit("localhost.shop.test", &["::1", "127.0.0.1"]), Err(Refused));
    // Public addresses over plain http need the setting.
    assert_eq!(guard.admit("shop.test", at(&["93.184.215.14"]), Transport::Plain), Err(Refused));
    assert_eq!(guard.admit("shop.test", at(&["127.0.0.1"]), Transport::Plain), Ok(at(&["127.0.0.1"])));
}
